import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  decodeLinkFrame,
  encodeLinkFrame,
  linkHeader,
  type LinkFrame,
  type LinkMethod,
} from '../../../src/model/link-frame.ts';

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));
const frames = fc.record(
  {
    seqId: uint64,
    logId: uint64,
    service: fc.integer(),
    method: fc.constantFrom<LinkMethod>('control', 'data'),
    headers: fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), { maxLength: 10 }),
    payload: bytes,
    payloadEncoding: fc.string(),
    payloadType: fc.string(),
    logIdNew: fc.string(),
  },
  { requiredKeys: ['seqId', 'logId', 'service', 'method', 'headers', 'payload'] },
);

describe('a frame of the long connection', () => {
  it('is, byte for byte, what Protocol Buffers make of it', () => {
    const frame: LinkFrame = {
      ...{ seqId: 1n, logId: 300n, service: 7, method: 'data' },
      headers: [['type', 'event']],
      payload: Buffer.from('{}'),
    };
    expect(encodeLinkFrame(frame).toString('hex')).toBe(
      ['0801', '10ac02', '1807', '2001', '2a0d', '0a0474797065', '12056576656e74', '42027b7d'].join(''),
    );
  });

  it('comes back as it was', () => {
    fc.assert(
      fc.property(frames, (frame) => {
        expect(decodeLinkFrame(encodeLinkFrame(frame))).toEqual(frame);
      }),
    );
  });

  it('is read past fields that nobody knows, and out of any bytes without a fault', () => {
    const frame: LinkFrame = {
      ...{ seqId: 0n, logId: 0n, service: 0, method: 'control' },
      headers: [['type', 'pong']],
      payload: Buffer.alloc(0),
    };
    const unknown = Buffer.from([0xf8, 0x01, 0x05, 0xfa, 0x01, 0x01, 0x61]);
    const read = decodeLinkFrame(Buffer.concat([encodeLinkFrame(frame), unknown]));
    expect(read && linkHeader(read, 'type')).toBe('pong');

    fc.assert(
      fc.property(bytes, (any) => {
        decodeLinkFrame(any);
      }),
    );
    expect(decodeLinkFrame(Buffer.from([0x42, 0x7f, 0x00]))).toBeUndefined();
  });
});
