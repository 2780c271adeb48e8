import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { crc32c } from '../../../../src/adapters/kafka/crc32c.ts';

/** Bit by bit, as the definition says. */
function plain(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32c', () => {
  it.each([
    ['123456789', 0xe3069283],
    ['', 0],
    ['\0'.repeat(32), 0x8a9136aa],
  ])('of %j is what RFC 3720 and others print', (text, sum) => {
    expect(crc32c(Buffer.from(text), 0, text.length)).toBe(sum);
  });

  it('is the same as bit by bit, for any bytes and any part of them', () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(bytes, fc.nat(40), fc.nat(40), (all, skip, drop) => {
        const from = Math.min(skip, all.length);
        const to = Math.max(from, all.length - drop);
        expect(crc32c(Buffer.from(all), from, to)).toBe(plain(all.subarray(from, to)));
      }),
    );
  });
});
