// The broker refuses more than 4096 UTF-16 units of metadata; 3,000 bytes are 4,000 base64 characters, and the rest
// is room for the tag and the watermark.
const mostBytes = 3_000;
const bitmapTag = 'd1';
const runsTag = 'd2';

// More than a partition ever has above its watermark; whoever names more has written something else.
const mostDone = 2 ** 20;

/**
 * Offsets done above the watermark, for the metadata of a commit; `''` when there is none. Written in the way that holds more
 * of them: a bitmap, `d1:<watermark>:<base64>`, or where they stand close together (a full lane's records that went to a
 * delay topic) runs, `d2:<watermark>:<base64>`: how many are not done, how many are done, and so on. What does not fit is
 * left out: it is delivered again and caught by its claim.
 * @param done ascending; other orders cost reach, not correctness
 */
export function encodeDone(watermark: number, done: Iterable<number>): string {
  // Mostly nothing is done above the gap, so nothing is made for it.
  let bitmap: Bitmap | undefined;
  let runs: Runs | undefined;
  for (const offset of done) {
    const at = offset - watermark;
    if (at < 0) continue;
    bitmap ??= new Bitmap();
    runs ??= new Runs();
    bitmap.add(at);
    runs.add(at);
  }
  if (bitmap === undefined || runs === undefined) return '';
  const text = (tag: string, bytes: Buffer): string => `${tag}:${watermark}:${bytes.toString('base64')}`;
  return runs.end() > bitmap.count ? text(runsTag, runs.bytes) : text(bitmapTag, bitmap.bytes);
}

/**
 * The offsets that {@link encodeDone} wrote. Metadata of somebody else, of another version, or of a commit that a tool
 * has moved since gives an empty set: those records are simply delivered again.
 */
export function decodeDone(committed: number, metadata: string | null): Set<number> {
  const [tag, watermark, body] = (metadata ?? '').split(':');
  if (watermark !== String(committed) || body === undefined) return new Set();
  if (tag === bitmapTag) return readBitmap(committed, Buffer.from(body, 'base64'));
  if (tag === runsTag) return readRuns(committed, Buffer.from(body, 'base64'));
  return new Set();
}

class Bitmap {
  readonly #bits = Buffer.alloc(mostBytes);
  #top = -1;
  count = 0;

  add(at: number): void {
    if (at >= mostBytes * 8) return;
    const byte = at >> 3;
    const before = this.#bits.readUInt8(byte);
    const after = before | (1 << (at & 7));
    if (after === before) return;
    this.#bits.writeUInt8(after, byte);
    this.count++;
    if (byte > this.#top) this.#top = byte;
  }

  get bytes(): Buffer {
    return this.#bits.subarray(0, this.#top + 1);
  }
}

function readBitmap(committed: number, bits: Buffer): Set<number> {
  const done = new Set<number>();
  for (const [index, byte] of bits.entries()) {
    for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) done.add(committed + index * 8 + bit);
  }
  return done;
}

/** Written while they come, as far as they ascend and fit. */
class Runs {
  readonly #written: number[] = [];
  #count = 0;
  /** End of the last run that was written. */
  #writtenTo = 0;
  #from = -1;
  #to = -1;
  #over = false;

  add(at: number): void {
    if (this.#over || at < this.#to) return;
    if (at === this.#to) this.#to++;
    else {
      this.#write();
      this.#from = at;
      this.#to = at + 1;
    }
  }

  /** Ends the last run. Returns how many offsets all of them hold. */
  end(): number {
    this.#write();
    this.#over = true;
    return this.#count;
  }

  get bytes(): Buffer {
    return Buffer.from(this.#written);
  }

  #write(): void {
    if (this.#over || this.#from < 0) return;
    const more = [...varint(this.#from - this.#writtenTo), ...varint(this.#to - this.#from)];
    if (this.#written.length + more.length > mostBytes) {
      this.#over = true;
      return;
    }
    this.#written.push(...more);
    this.#count += this.#to - this.#from;
    this.#writtenTo = this.#to;
    this.#from = -1;
  }
}

function readRuns(committed: number, bytes: Buffer): Set<number> {
  const done = new Set<number>();
  let at = committed;
  let isDone = false;
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte >= 0x80) continue;
    if (value > mostDone || done.size + value > mostDone) break;
    if (isDone) for (let n = 0; n < value; n++) done.add(at + n);
    at += value;
    isDone = !isDone;
    value = 0;
    scale = 1;
  }
  return done;
}

/** Seven bits a byte, the lowest first, as in Kafka's own records. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return bytes;
}
