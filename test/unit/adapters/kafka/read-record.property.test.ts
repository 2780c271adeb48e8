import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type BatchContext, type Decoder, decodeRecord } from '../../../../src/adapters/kafka/wire-record.ts';
import { unmendedDriver } from '../../../support/unmended-driver.ts';

// The driver's own writing of one record.
const [Reader, written] = unmendedDriver(['src/protocol/decoder', 'src/protocol/recordBatch/record/v0']) as [
  new (bytes: Buffer) => Decoder,
  (record: object) => { readonly buffer: Buffer },
];

const firstMs = Date.UTC(2026, 0, 1);
const batch: BatchContext = {
  firstOffset: '9000000000',
  firstTimestamp: String(firstMs),
  maxTimestamp: String(firstMs + 1),
  magicByte: 2,
  isControlBatch: false,
  timestampType: 0,
};

/** What is read of a record that the driver wrote; its length in front is read by the driver, too. */
function read(record: object): { readonly timestamp: string; readonly offset: string } {
  const decoder = new Reader(written(record).buffer);
  decoder.readVarInt();
  const back = decodeRecord(decoder, batch) as { readonly timestamp: string; readonly offset: string };
  expect(decoder.canReadBytes(1)).toBe(false);
  return back;
}

describe('a record that is read', () => {
  it('has the time and the place that it was written with, also before the first of its batch or years after it', () => {
    const deltaMs = fc.oneof(fc.integer(), fc.integer({ min: -1e12, max: 1e12 }), fc.constantFrom(0, 63, 64, -64, -65));
    fc.assert(
      fc.property(deltaMs, fc.nat(), (timestampDelta, offsetDelta) => {
        expect(read({ timestampDelta, offsetDelta, key: 'k', value: 'v', headers: {} })).toMatchObject({
          timestamp: String(firstMs + timestampDelta),
          offset: String(9_000_000_000 + offsetDelta),
          key: Buffer.from('k'),
          value: Buffer.from('v'),
        });
      }),
    );
  });

  it('is refused where a number of it does not end', () => {
    const endless = new Reader(Buffer.concat([Buffer.from([0]), Buffer.alloc(20, 0xff)]));
    expect(() => decodeRecord(endless, batch)).toThrow('a number of more than 10 bytes');
  });
});
