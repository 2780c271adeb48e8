import { linkHeader, type LinkFrame } from '../../../model/link-frame.ts';

interface Parts {
  readonly atMs: number;
  /** None once it was dropped: what still comes of it is dropped too, and begins no message. */
  pieces: (Buffer | undefined)[];
  bytes: number;
}

/** The platform sends the parts of a message at once; who waits longer for one has lost it. */
const keptMs = 5_000;
const mostMessages = 100;
const mostParts = 64;
/** As much as comes in one request. */
const mostBytes = 1_048_576;
/** Of all unfinished messages together. */
const mostOpenBytes = 4 * mostBytes;

/** Joins messages that come in several frames. Bounded in messages and bytes: the oldest unfinished ones give way. */
export class FrameParts {
  readonly #open = new Map<string, Parts>();
  #bytes = 0;

  /** The whole payload, once its last part is there. @param nowMs monotonic */
  join(frame: LinkFrame, nowMs: number): Buffer | undefined {
    const sum = Number(linkHeader(frame, 'sum') ?? 1);
    const seq = Number(linkHeader(frame, 'seq') ?? 0);
    if (!(sum > 1)) return frame.payload;
    if (!Number.isInteger(sum) || sum > mostParts || !Number.isInteger(seq) || seq < 0 || seq >= sum) return undefined;
    this.#forget(nowMs);
    const id = linkHeader(frame, 'message_id') ?? '';
    const parts = this.#open.get(id) ?? this.#begin(id, sum, nowMs);
    if (parts.pieces.length !== sum) return undefined;
    this.#count(parts, frame.payload.length - (parts.pieces[seq]?.length ?? 0));
    parts.pieces[seq] = frame.payload;
    const there = parts.pieces.filter((piece) => piece !== undefined);
    if (parts.bytes > mostBytes) this.#drop(parts);
    else if (there.length === sum) {
      this.#drop(parts);
      this.#open.delete(id);
      return Buffer.concat(there);
    }
    for (const oldest of this.#open.values()) {
      if (this.#bytes <= mostOpenBytes) break;
      this.#drop(oldest);
    }
    return undefined;
  }

  #begin(id: string, sum: number, atMs: number): Parts {
    const parts = { atMs, pieces: Array.from<Buffer | undefined>({ length: sum }), bytes: 0 };
    this.#open.set(id, parts);
    return parts;
  }

  #count(parts: Parts, bytes: number): void {
    parts.bytes += bytes;
    this.#bytes += bytes;
  }

  #drop(parts: Parts): void {
    this.#count(parts, -parts.bytes);
    parts.pieces = [];
  }

  #forget(nowMs: number): void {
    for (const [id, parts] of this.#open) {
      if (nowMs - parts.atMs <= keptMs && this.#open.size < mostMessages) return;
      this.#drop(parts);
      this.#open.delete(id);
    }
  }
}
