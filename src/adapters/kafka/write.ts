import type { Observer, Unsubscribable } from 'rxjs';

import type { OutRecord } from '../../model/record.ts';
import type { Ack } from '../../ports/record-sink.ts';

import type { OpenWrites } from './open-writes.ts';

/** A record on its way, and who waits for it. To unsubscribe drops the interest, not the write. */
export class Write implements Unsubscribable {
  readonly record: OutRecord;
  /** When it was handed over, monotonic milliseconds. */
  readonly sinceMs: number;
  readonly #writes: OpenWrites;
  readonly #open: ReturnType<OpenWrites['begin']>;
  #observer: Observer<Ack> | undefined;

  constructor(record: OutRecord, observer: Observer<Ack>, writes: OpenWrites, sinceMs: number) {
    this.record = record;
    this.sinceMs = sinceMs;
    this.#observer = observer;
    this.#writes = writes;
    this.#open = writes.begin();
  }

  acknowledge(ack: Ack): void {
    this.#writes.end(this.#open);
    this.#observer?.next(ack);
    this.#observer?.complete();
  }

  unsubscribe(): void {
    this.#observer = undefined;
  }
}
