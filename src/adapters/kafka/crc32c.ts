// Castagnoli's polynomial, reflected; Node's own crc32 has another one.
const polynomial = 0x82f63b78;

// Tables for eight bytes at a time (Kounavis and Berry, 2005), one after the other: a third of the time of single bytes.
const size = 256;
const table = new Int32Array(8 * size);
for (let byte = 0; byte < size; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  table[byte] = crc;
}
for (let at = size; at < table.length; at++) {
  const before = table[at - size] ?? 0;
  table[at] = (table[before & 255] ?? 0) ^ (before >>> 8);
}

const of = (nth: number, byte: number): number => table[nth * size + byte] ?? 0;

/** CRC-32C of `bytes` from `from` to before `to`, as Kafka puts it on a record batch. 0 to 2^32 - 1. */
export function crc32c(bytes: Buffer, from: number, to: number): number {
  // Four bytes in one load: the methods of a buffer put them together one by one, at eight times the cost of all the rest.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let crc = -1;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc = of(7, low & 255) ^ of(6, (low >>> 8) & 255) ^ of(5, (low >>> 16) & 255) ^ of(4, low >>> 24);
    crc ^= of(3, high & 255) ^ of(2, (high >>> 8) & 255) ^ of(1, (high >>> 16) & 255) ^ of(0, high >>> 24);
  }
  for (; at < to; at++) crc = of(0, (crc ^ view.getUint8(at)) & 255) ^ (crc >>> 8);
  return ~crc >>> 0;
}
