import type { WriteTrouble } from '../../ports/record-sink.ts';

import { larkspurErrorOf } from './errors.ts';

interface Failing extends WriteTrouble {
  readonly topic: string;
  readonly sinceMs: number;
}

/** Where the last write failed, and since when: topics of which nothing can be read, and partitions that take nothing. */
export class FailingWrites {
  readonly #byPlace = new Map<string, Failing>();

  /** @param place the topic, or one of its partitions; @param nowMs monotonic */
  failed(place: string, topic: string, error: unknown, nowMs: number): void {
    const { message, cure } = larkspurErrorOf(error, `write to ${topic}`);
    const sinceMs = this.#byPlace.get(place)?.sinceMs ?? nowMs;
    this.#byPlace.set(place, { topic, sinceMs, why: message, ...(cure === undefined ? {} : { cure }) });
  }

  /** The place took a write, or told what it is. */
  worked(place: string): void {
    this.#byPlace.delete(place);
  }

  /** What holds the writes to a topic up. */
  of(topic: string): WriteTrouble | undefined {
    for (const failing of this.#byPlace.values()) if (failing.topic === topic) return failing;
    return undefined;
  }
}
