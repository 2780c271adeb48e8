import { Observable } from 'rxjs';

import type { OutRecord } from '../../../src/model/record.ts';
import type { Ack, RecordSink } from '../../../src/ports/record-sink.ts';

import type { Process } from './process.ts';

/** What `results` takes at most. */
const limitBytes = 4_000;

interface Write {
  readonly record: OutRecord;
  readonly nth: number;
  readonly acked: (ack: Ack) => void;
}

/**
 * The producer of one process: in order, for ever. A write that is out when its process dies may have reached the broker
 * or not; one whose acknowledgement was lost stands twice.
 */
export class Sink implements RecordSink {
  readonly #process: Process;
  #writes = 0;
  #open = 0;
  #whenIdle: (() => void)[] = [];

  constructor(process: Process) {
    this.#process = process;
  }

  append(record: OutRecord): Observable<Ack> {
    return new Observable((subscriber) => {
      if (!this.#process.enter('append')) return;
      const bytes = record.value?.length ?? 0;
      if (record.topic === 'results' && bytes > limitBytes) {
        this.#process.deliver(1, () => {
          subscriber.next({ kind: 'too-large', limitBytes });
          subscriber.complete();
        });
        return;
      }
      this.#open++;
      this.#travel({
        record,
        nth: this.#writes++,
        acked: (ack) => {
          subscriber.next(ack);
          subscriber.complete();
        },
      });
    });
  }

  trouble(): undefined {
    return undefined;
  }

  flush(): Observable<void> {
    return new Observable((subscriber) => {
      const done = (): void => {
        subscriber.next();
        subscriber.complete();
      };
      if (this.#open === 0) done();
      else this.#whenIdle.push(done);
    });
  }

  #travel(write: Write): void {
    const { clock } = this.#process.world;
    clock.at(this.#process.inLine('sink', this.#process.draw(1, 30, 'write', write.nth)), () => this.#arrives(write));
  }

  #arrives(write: Write): void {
    const { world } = this.#process;
    const trouble = world.weather.now('produce', world.clock.now());
    const onItsWay = this.#process.draw(0, 1, 'lands', write.nth) < 0.5;
    if (!this.#process.alive && (trouble !== undefined || !onItsWay)) return;
    if (trouble?.how === 'held') {
      // The producer's retries hold everything behind it.
      const backMs = trouble.atMs + trouble.forMs - world.clock.now() + this.#process.draw(1, 500, 'back', write.nth);
      world.clock.at(this.#process.inLine('sink', backMs), () => this.#arrives(write));
      return;
    }
    const storedAtMs = world.topics.append(write.record, this.#process.name);
    const lost = trouble?.how === 'ack-lost' && this.#process.draw(0, 1, 'ack', write.nth, world.clock.now()) < 0.5;
    if (lost) {
      this.#process.deliver(500, () => this.#travel(write));
      return;
    }
    this.#process.deliver(this.#process.draw(1, 30, 'acked', write.nth), () => {
      this.#open--;
      write.acked({
        kind: 'written',
        partition: 0,
        offset: write.nth,
        ...(storedAtMs !== undefined && { storedAtMs }),
      });
      if (this.#open > 0) return;
      const waiting = this.#whenIdle;
      this.#whenIdle = [];
      for (const done of waiting) done();
    });
  }
}
