import { Observable, tap } from 'rxjs';

import type { OutRecord } from '../../src/model/record.ts';
import type { Ack, RecordSink, WriteTrouble } from '../../src/ports/record-sink.ts';

/** A sink whose store goes away and comes back: while it is held, writes wait, as the port promises. */
export class HeldSink implements RecordSink {
  readonly #inner: RecordSink;
  readonly #written: () => void;
  #held = false;
  #waiting: (() => void)[] = [];

  /** @param written told of each write when it is durable */
  constructor(inner: RecordSink, written: () => void = () => undefined) {
    this.#inner = inner;
    this.#written = written;
  }

  /** Writes that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  append(record: OutRecord): Observable<Ack> {
    return this.#later(this.#inner.append(record).pipe(tap(() => this.#written())));
  }

  flush(): Observable<void> {
    return this.#later(this.#inner.flush());
  }

  trouble(topic: string): WriteTrouble | undefined {
    return this.#held ? { why: 'its store is away' } : this.#inner.trouble(topic);
  }

  #later<T>(write$: Observable<T>): Observable<T> {
    return new Observable<T>((subscriber) => {
      const go = (): void => void write$.subscribe(subscriber);
      if (this.#held) this.#waiting.push(go);
      else go();
    });
  }
}
