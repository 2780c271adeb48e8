/**
 * Kafka's hash of a key: murmur2 with the seed of its Java client, as a signed 32-bit integer (Austin Appleby's
 * MurmurHash2; the variant is fixed by what every other client computes, so it can never change).
 */
export function murmur2(bytes: Uint8Array): number {
  const mix = 0x5bd1e995;
  const length = bytes.length;
  const whole = length & ~3;
  let hash = 0x9747b28c ^ length;
  for (let at = 0; at < whole; at += 4) {
    let word = byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24);
    word = Math.imul(word, mix);
    word ^= word >>> 24;
    hash = Math.imul(hash, mix) ^ Math.imul(word, mix);
  }
  const left = length - whole;
  if (left > 2) hash ^= byte(bytes, whole + 2) << 16;
  if (left > 1) hash ^= byte(bytes, whole + 1) << 8;
  if (left > 0) hash = Math.imul(hash ^ byte(bytes, whole), mix);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, mix);
  return hash ^ (hash >>> 15);
}

/**
 * The partition that a key belongs to, the same as Kafka's Java client chooses. Records without a key have no place of
 * their own: the writer spreads them.
 * @param partitions 1 or more
 */
export function partitionFor(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
