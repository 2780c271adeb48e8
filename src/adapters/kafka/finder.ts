import { firstValueFrom, lastValueFrom, type Observable, tap } from 'rxjs';

import { eventName } from '../../model/event.ts';
import { partitionFor } from '../../model/partitioner.ts';
import { fromAbortable } from '../../operators/interop/from-abortable.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Position, RecordFinder, Wanted } from '../../ports/record-finder.ts';
import type { Stretch } from '../../ports/topic-reader.ts';

import type { KafkaReader } from './reader.ts';

interface Waiting {
  readonly wanted: Wanted;
  readonly resolve: (position: Position | undefined) => void;
}

const againAfterMs = 1_000;

/**
 * {@link RecordFinder} on Kafka. Whoever asks while the topic is being read is answered by the next reading, together with
 * all others: after an outage, or when a process died, many ask at once.
 */
export class KafkaFinder implements RecordFinder {
  readonly #reader: KafkaReader;
  readonly #timers: Timers;
  #waiting: Waiting[] = [];
  #reading = false;
  #closed = false;

  constructor(reader: KafkaReader, timers: Timers) {
    this.#reader = reader;
    this.#timers = timers;
  }

  find(wanted: Wanted): Observable<Position | undefined> {
    return fromAbortable(() => this.locate(wanted));
  }

  /** The same as a promise; it never rejects, and after {@link close} never resolves. */
  locate(wanted: Wanted): Promise<Position | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
      if (!this.#reading) void this.#readAll();
    });
  }

  /** Reads no more. */
  close(): void {
    this.#closed = true;
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#waiting.length > 0 && !this.#closed) {
      const asked = this.#waiting;
      this.#waiting = [];
      try {
        await this.#answer(asked);
      } catch {
        // Kafka is away; the sink says so, again and again.
        this.#waiting = [...asked, ...this.#waiting];
        await new Promise<void>((resolve) => void this.#timers.after(againAfterMs, resolve));
      }
    }
    this.#reading = false;
  }

  async #answer(asked: readonly Waiting[]): Promise<void> {
    for (const topic of new Set(asked.map(({ wanted }) => wanted.topic))) {
      const ofTopic = asked.filter(({ wanted }) => wanted.topic === topic);
      const sinceMs = Math.min(...ofTopic.map(({ wanted }) => wanted.sinceMs));
      const starts = await firstValueFrom(this.#reader.since(topic, sinceMs), {
        defaultValue: new Map<number, number>(),
      });
      const stretches = new Map<number, Stretch>();
      for (const { wanted } of ofTopic) {
        const partition = partitionFor(wanted.key, starts.size);
        stretches.set(partition, { partition, from: starts.get(partition) ?? 0 });
      }
      const places = await this.#placesOf(
        topic,
        [...stretches.values()],
        new Set(ofTopic.map(({ wanted }) => wanted.name)),
      );
      for (const { wanted, resolve } of ofTopic) resolve(places.get(wanted.name));
    }
  }

  async #placesOf(
    topic: string,
    stretches: readonly Stretch[],
    names: ReadonlySet<string>,
  ): Promise<Map<string, Position>> {
    const places = new Map<string, Position>();
    await lastValueFrom(
      this.#reader.scan(topic, stretches).pipe(
        tap(({ partition, offset, headers }) => {
          const name = eventName(headers);
          if (name !== undefined && names.has(name)) places.set(name, { partition, offset });
        }),
      ),
      { defaultValue: undefined },
    );
    return places;
  }
}
