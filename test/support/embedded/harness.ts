import { filter, map, take, toArray } from 'rxjs';

import { type Embedded, openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { InRecord } from '../../../src/model/record.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import type { RecordSource } from '../../../src/ports/record-source.ts';
import { only } from '../only.ts';
import { noLogger } from '../silent.ts';

let topics = 0;

/** The embedded house as the contract suites of records want it, on the machine's own time. */
export class EmbeddedHarness {
  readonly embedded: Embedded;
  readonly sink: RecordSink;

  constructor(data: string) {
    const machine = { clock: systemClock, timers: systemTimers, logger: noLogger };
    this.embedded = openEmbedded({ data, ...machine, topics: [] });
    this.sink = this.embedded.sink;
  }

  topic(partitions: number, maxMessageBytes?: number): Promise<string> {
    const name = `topic-${topics++}`;
    this.embedded.declare({ name, partitions, ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }) });
    return Promise.resolve(name);
  }

  async write(
    topic: string,
    records: readonly Pick<InRecord, 'value'>[] & readonly Partial<InRecord>[],
  ): Promise<void> {
    for (const { key = null, value, headers = [] } of records) {
      void only(this.sink.append({ topic, key, value, headers }));
    }
    await only(this.sink.flush());
  }

  read(topic: string, count: number): Promise<InRecord[]> {
    const source = this.embedded.source('reader', [topic]);
    return only(
      source.event$.pipe(
        filter((event) => event.kind === 'record'),
        map((event) => event.record),
        take(count),
        toArray(),
      ),
    );
  }

  source(
    group: string,
    names: readonly string[],
    startsAs?: string,
  ): { source: RecordSource; close: () => Promise<void> } {
    return { source: this.embedded.source(group, names, startsAs), close: () => Promise.resolve() };
  }

  close(): Promise<void> {
    return this.embedded.close();
  }
}
