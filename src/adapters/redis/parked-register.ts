import { Observable, type Subscriber } from 'rxjs';

import type { Logger } from '../../ports/logger.ts';
import type { ParkedCall, ParkedRegister, ParkedScope } from '../../ports/parked-register.ts';

import type { RedisConnection } from './client.ts';
import { loadScript } from './scripts.ts';
import { type ReplyReader, StepBatches } from './step-batches.ts';

/** Which keys. */
export interface ParkedRegisterOptions {
  /** Before all keys. Default `larkspur:`. */
  readonly keyPrefix?: string;
  /** Whose partitions: two groups on the same topics have registers of their own. */
  readonly group: string;
}

type Opened = { readonly fence: number; readonly calls: readonly ParkedCall[] };

const pageFields = 1_000;
const tryAgainMs = 200;

/** {@link ParkedRegister} in Redis: a hash per partition, changed only by `scripts/parked.lua`. */
export class RedisParkedRegister implements ParkedRegister {
  readonly #connection: RedisConnection;
  readonly #batches: StepBatches;
  readonly #prefix: string;

  constructor(connection: RedisConnection, logger: Logger, { keyPrefix = 'larkspur:', group }: ParkedRegisterOptions) {
    this.#connection = connection;
    this.#prefix = `${keyPrefix}parked:{${group}/`;
    this.#batches = new StepBatches(connection, loadScript('parked'), () => [], logger);
  }

  open(partition: string): Observable<Opened> {
    return new Observable((subscriber) => {
      // From the answer on nobody else writes, so the pages that follow are of one piece.
      this.#add(subscriber, partition, ['o'], (fence) => void this.#read(subscriber, partition, fence));
    });
  }

  put({ partition, fence }: ParkedScope, { offset, dueMs, key }: ParkedCall): Observable<boolean> {
    return this.#flag(partition, ['p', fence, offset, `${dueMs} ${key}`]);
  }

  remove({ partition, fence }: ParkedScope, offset: number): Observable<boolean> {
    return this.#flag(partition, ['r', fence, offset]);
  }

  ready(): boolean {
    return this.#connection.ready();
  }

  /** Stops sending; what waits is never answered. */
  close(): void {
    this.#batches.close();
  }

  #flag(partition: string, args: readonly (string | number)[]): Observable<boolean> {
    return new Observable((subscriber) => {
      this.#add(subscriber, partition, args, (flag) => {
        subscriber.next(flag === 1);
        subscriber.complete();
      });
    });
  }

  #add(
    subscriber: Subscriber<unknown>,
    partition: string,
    args: readonly (string | number)[],
    answered: (reply: number) => void,
  ): void {
    const step = {
      key: this.#keyOf(partition),
      tag: partition,
      args,
      bytes: String(args.at(-1)).length,
      dropped: false,
      answer: (reply: ReplyReader) => answered(reply.number()),
    };
    subscriber.add(() => (step.dropped = true));
    this.#batches.add(step);
  }

  async #read(subscriber: Subscriber<Opened>, partition: string, fence: number): Promise<void> {
    try {
      const calls = await this.#pages(partition);
      subscriber.next({ fence, calls });
      subscriber.complete();
    } catch {
      const cancel = this.#connection.whenWorthTrying(tryAgainMs, () => {
        if (!subscriber.closed) void this.#read(subscriber, partition, fence);
      });
      subscriber.add(cancel);
    }
  }

  /** All of a register; a field may come twice where the hash grew while it was read. */
  async #pages(partition: string): Promise<ParkedCall[]> {
    const calls = new Map<number, ParkedCall>();
    let cursor = '0';
    do {
      const [next, fields] = await this.#connection.run('parked-read', (client) =>
        client.hscan(this.#keyOf(partition), cursor, 'COUNT', pageFields),
      );
      for (let at = 0; at + 1 < fields.length; at += 2) {
        const call = callOf(fields[at] ?? '', fields[at + 1] ?? '');
        if (call !== undefined) calls.set(call.offset, call);
      }
      cursor = next;
    } while (cursor !== '0');
    return [...calls.values()];
  }

  #keyOf(partition: string): string {
    return `${this.#prefix}${partition}}`;
  }
}

/** The field without a name is the fence. */
function callOf(offset: string, value: string): ParkedCall | undefined {
  if (offset === '') return undefined;
  const space = value.indexOf(' ');
  return { offset: Number(offset), dueMs: Number(value.slice(0, space)), key: value.slice(space + 1) };
}
