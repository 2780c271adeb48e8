import { afterAll, afterEach, beforeAll } from 'vitest';

import type { RecordHeaders } from '../../src/model/record.ts';
import type { RecordSource } from '../../src/ports/record-source.ts';
import { only } from '../support/only.ts';
import { SourceReader } from '../support/source-reader.ts';

/** A record to be read. */
export interface Given {
  readonly key?: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: RecordHeaders;
}

/** What an adapter gives so that its sources can be judged. */
export interface SourceHarness {
  /** Creates an empty topic; returns its logical name, unique in the run. */
  topic(partitions: number): Promise<string>;
  /** Appends in this order; records with a key go where Kafka's Java client would put them. */
  write(topic: string, records: readonly Given[]): Promise<void>;
  /** A new member of the group, which starts as another one if told; `close` resolves when it has left. */
  source(
    group: string,
    topics: readonly string[],
    startsAs?: string,
  ): { readonly source: RecordSource; close: () => Promise<void> };
  close(): Promise<void>;
}

/** A source that was subscribed. */
export interface Member {
  readonly reader: SourceReader;
  readonly leave: () => Promise<void>;
}

let groups = 0;

/** Members of groups for the tests of one suite; they leave after each test. */
export class SourceStage {
  #harness: SourceHarness | undefined;
  #members: Member[] = [];

  constructor(open: () => Promise<SourceHarness>) {
    beforeAll(async () => {
      this.#harness = await open();
    });
    afterEach(async () => {
      await Promise.all(this.#members.splice(0).map(({ leave }) => leave()));
    });
    afterAll(async () => {
      await this.#harness?.close();
    });
  }

  get harness(): SourceHarness {
    if (this.#harness === undefined) throw new Error('the suite has not begun');
    return this.#harness;
  }

  /** A group that nothing else uses. */
  group(): string {
    return `group-${process.pid}-${Date.now()}-${groups++}`;
  }

  join(
    group: string,
    topics: readonly string[],
    onRecord?: ConstructorParameters<typeof SourceReader>[1],
    startsAs?: string,
  ): Member {
    const { source, close } = this.harness.source(group, topics, startsAs);
    const reader = new SourceReader(source, onRecord);
    const leave = () => {
      reader.unsubscribe();
      return close();
    };
    const member = { reader, leave };
    this.#members.push(member);
    return member;
  }
}

/** Commits for partition 0. */
export function commit(reader: SourceReader, offset: number, metadata = ''): Promise<void> {
  return only(reader.source.commit([{ partition: reader.partition(0), offset, metadata }]));
}

/** Records `v{from}` to `v{to - 1}` of one key. */
export function texts(from: number, to: number): Given[] {
  return named(from, to).map((value) => ({ key: Buffer.from('k'), value: Buffer.from(value) }));
}

/** The values of {@link texts}. */
export function named(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `v${from + index}`);
}
