import type { Subscription } from 'rxjs';

import type { InRecord } from '../../src/model/record.ts';
import type { AssignedPartition, RecordSource, SourceEvent } from '../../src/ports/record-source.ts';

/** Subscribes to a source and remembers what it told. */
export class SourceReader {
  readonly source: RecordSource;
  readonly events: SourceEvent[] = [];
  readonly records: InRecord[] = [];
  /** What is ours now, in the order of assignment. */
  partitions: AssignedPartition[] = [];
  error: unknown;
  readonly #subscription: Subscription;
  #waiting: (() => void)[] = [];

  /** @param onRecord is called inside `next`, after the record was remembered */
  constructor(
    source: RecordSource,
    onRecord: (partition: AssignedPartition, record: InRecord) => void = () => undefined,
  ) {
    this.source = source;
    this.#subscription = source.event$.subscribe({
      next: (event) => {
        this.events.push(event);
        if (event.kind === 'assigned') this.partitions.push(event.partition);
        else if (event.kind === 'lost') this.partitions = this.partitions.filter((one) => one !== event.partition);
        else {
          this.records.push(event.record);
          onRecord(event.partition, event.record);
        }
        this.#wake();
      },
      error: (error: unknown) => {
        this.error = error;
        this.#wake();
      },
    });
  }

  /** Values read, as text. */
  get values(): string[] {
    return this.records.map(({ value }) => value?.toString() ?? 'null');
  }

  /** Values of one partition, as text. */
  valuesOf(partition: number): string[] {
    return this.records.filter((one) => one.partition === partition).map(({ value }) => value?.toString() ?? 'null');
  }

  /** The current assignment of a partition. Fails when it is not ours. */
  partition(number = 0, topic?: string): AssignedPartition {
    const found = this.partitions.find((one) => one.partition === number && (topic ?? one.topic) === one.topic);
    if (found === undefined) throw new Error(`partition ${number} is not assigned`);
    return found;
  }

  /** Resolves once `condition` holds, looked at after each event; rejects with what was read when it takes too long. */
  async until(condition: () => boolean, limitMs = 20_000): Promise<void> {
    const untilMs = Date.now() + limitMs;
    while (!condition()) {
      if (Date.now() > untilMs) {
        const tail = this.events.slice(-5).map((event) => `${event.kind} ${JSON.stringify(event.partition)}`);
        throw new Error(`waited ${limitMs} ms; ${this.records.length} records; last events: ${tail.join(', ')}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  unsubscribe(): void {
    this.#subscription.unsubscribe();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
