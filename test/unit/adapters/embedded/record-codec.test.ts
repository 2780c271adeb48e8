import fc from 'fast-check';
import { describe, it } from 'vitest';

import { claimCodec } from '../../../../src/adapters/embedded/claim-codec.ts';
import type { ClaimRecord } from '../../../../src/adapters/embedded/claim-rules.ts';
import { decodeRecord, encodeRecord, storedSize } from '../../../../src/adapters/embedded/record-codec.ts';

const bytes = fc.uint8Array({ maxLength: 300, size: 'max' }).map((array) => Buffer.from(array));
const headers = fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 20 }), bytes), {
  maxLength: 12,
  size: 'max',
});

describe('stored bytes', () => {
  it('give every record back as it was, with its time and the bytes before it', () => {
    const nullable = fc.option(bytes, { nil: null });
    fc.assert(
      fc.property(nullable, nullable, headers, fc.nat(), fc.nat(), (key, value, given, timestampMs, before) => {
        const record = { topic: 't', key, value, headers: given };
        const blob = encodeRecord(record, timestampMs, before);
        const back = decodeRecord(blob);
        const same = (a: Buffer | null, b: Buffer | null): boolean =>
          a === null || b === null ? a === b : a.equals(b);
        return (
          blob.length === storedSize(record) &&
          back.timestampMs === timestampMs &&
          back.totalBytes === before + blob.length &&
          same(back.key, key) &&
          same(back.value, value) &&
          back.headers.length === given.length &&
          back.headers.every(([name, content], i) => name === given[i]?.[0] && content.equals(given[i][1]))
        );
      }),
      { numRuns: 1_000, seed: 3 },
    );
  });

  it('give every claim back as it was', () => {
    const time = fc.integer({ min: 0, max: 4e12 });
    const text = fc.string({ unit: 'grapheme', maxLength: 200, size: 'max' });
    const claim: fc.Arbitrary<ClaimRecord> = fc.record({
      state: fc.constantFrom('PENDING', 'FAILED', 'PROCESSED', 'DEAD'),
      fence: fc.nat(),
      round: fc.nat({ max: 0xff_ff_ff }),
      takeovers: fc.nat({ max: 255 }),
      untilMs: time,
      firstSentMs: time,
      expiresMs: time,
      origin: text,
      result: text,
    });
    fc.assert(
      fc.property(
        claim,
        (record) => JSON.stringify(claimCodec.decode(claimCodec.encode(record))) === JSON.stringify(record),
      ),
      { numRuns: 1_000, seed: 3 },
    );
  });
});
