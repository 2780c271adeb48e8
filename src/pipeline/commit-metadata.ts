// The broker refuses more than 4096 UTF-16 units of metadata; 3,000 bytes are 4,000 base64 characters, and the rest
// is room for the tag and the watermark.
const mostBytes = 3_000;
const tag = 'd1';

/**
 * Offsets done above the watermark, as a bitmap for the metadata of a commit: `d1:<watermark>:<base64>`, or `''` when
 * there is none. What lies too far ahead to fit is left out: it is delivered again and caught by its claim.
 */
export function encodeDone(watermark: number, done: Iterable<number>): string {
  // Mostly nothing is done above the gap, so nothing is made for it.
  let bits: Buffer | undefined;
  let top = -1;
  for (const offset of done) {
    const bit = offset - watermark;
    if (bit < 0 || bit >= mostBytes * 8) continue;
    const byte = bit >> 3;
    bits ??= Buffer.alloc(mostBytes);
    bits.writeUInt8(bits.readUInt8(byte) | (1 << (bit & 7)), byte);
    if (byte > top) top = byte;
  }
  return bits === undefined ? '' : `${tag}:${watermark}:${bits.subarray(0, top + 1).toString('base64')}`;
}

/**
 * The offsets that {@link encodeDone} wrote. Metadata of somebody else, of another version, or of a commit that a tool
 * has moved since gives an empty set: those records are simply delivered again.
 */
export function decodeDone(committed: number, metadata: string | null): Set<number> {
  const done = new Set<number>();
  const [version, watermark, body] = (metadata ?? '').split(':');
  if (version !== tag || watermark !== String(committed) || body === undefined) return done;
  const bits = Buffer.from(body, 'base64');
  for (const [index, byte] of bits.entries()) {
    for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) done.add(committed + index * 8 + bit);
  }
  return done;
}
