import { linkHeader, type LinkFrame } from '../../../model/link-frame.ts';

interface Parts {
  readonly atMs: number;
  readonly pieces: (Buffer | undefined)[];
}

/** The platform sends the parts of a message at once; who waits longer for one has lost it. */
const keptMs = 5_000;
const mostMessages = 100;
const mostParts = 64;
const mostBytes = 4 * 1_048_576;

/** Joins messages that come in several frames. Bounded: the oldest of a hundred unfinished messages gives way. */
export class FrameParts {
  readonly #open = new Map<string, Parts>();

  /** The whole payload, once its last part is there. @param nowMs monotonic */
  join(frame: LinkFrame, nowMs: number): Buffer | undefined {
    const sum = Number(linkHeader(frame, 'sum') ?? 1);
    const seq = Number(linkHeader(frame, 'seq') ?? 0);
    if (!(sum > 1)) return frame.payload;
    if (!Number.isInteger(sum) || sum > mostParts || !Number.isInteger(seq) || seq < 0 || seq >= sum) return undefined;
    this.#forget(nowMs);
    const id = linkHeader(frame, 'message_id') ?? '';
    const parts = this.#open.get(id) ?? { atMs: nowMs, pieces: Array.from<Buffer | undefined>({ length: sum }) };
    if (parts.pieces.length !== sum) return undefined;
    parts.pieces[seq] = frame.payload;
    this.#open.set(id, parts);
    const there = parts.pieces.filter((piece) => piece !== undefined);
    if (there.reduce((sum, { length }) => sum + length, 0) > mostBytes) this.#open.delete(id);
    if (there.length < sum) return undefined;
    this.#open.delete(id);
    return Buffer.concat(there);
  }

  #forget(nowMs: number): void {
    for (const [id, { atMs }] of this.#open) {
      if (nowMs - atMs <= keptMs && this.#open.size < mostMessages) return;
      this.#open.delete(id);
    }
  }
}
