import type { ClaimRecord } from './claim-rules.ts';
import type { Codec } from './store.ts';

const states = ['PENDING', 'FAILED', 'PROCESSED', 'DEAD'] as const;
const fixedBytes = 1 + 4 + 4 + 3 * 8 + 4;

/**
 * Layout, big endian: state u8, fence u32, round u24, takeovers u8, until f64, first sent f64, expires f64, origin length u32,
 * origin, result. A tenth of the cost of JSON, which would escape a result that is JSON itself.
 */
export const claimCodec: Codec<ClaimRecord> = {
  encode(record) {
    const originBytes = Buffer.byteLength(record.origin);
    const bytes = Buffer.allocUnsafe(fixedBytes + originBytes + Buffer.byteLength(record.result));
    bytes.writeUInt8(states.indexOf(record.state), 0);
    bytes.writeUInt32BE(record.fence, 1);
    bytes.writeUIntBE(record.round, 5, 3);
    bytes.writeUInt8(record.takeovers, 8);
    bytes.writeDoubleBE(record.untilMs, 9);
    bytes.writeDoubleBE(record.firstSentMs, 17);
    bytes.writeDoubleBE(record.expiresMs, 25);
    bytes.writeUInt32BE(originBytes, 33);
    bytes.write(record.origin, fixedBytes);
    bytes.write(record.result, fixedBytes + originBytes);
    return bytes;
  },
  decode(bytes) {
    const state = states[bytes.readUInt8(0)];
    if (state === undefined) throw new RangeError(`claim state ${bytes.readUInt8(0)} is not known`);
    const originEnd = fixedBytes + bytes.readUInt32BE(33);
    return {
      state,
      fence: bytes.readUInt32BE(1),
      round: bytes.readUIntBE(5, 3),
      takeovers: bytes.readUInt8(8),
      untilMs: bytes.readDoubleBE(9),
      firstSentMs: bytes.readDoubleBE(17),
      expiresMs: bytes.readDoubleBE(25),
      origin: bytes.toString('utf8', fixedBytes, originEnd),
      result: bytes.toString('utf8', originEnd),
    };
  },
};
