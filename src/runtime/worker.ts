import { firstValueFrom, type Subscription } from 'rxjs';

import { LarkspurError, messageOf } from '../model/errors.ts';
import { dispatchPipeline } from '../pipeline/dispatch-pipeline.ts';
import { underWayNow } from '../pipeline/explain/under-way.ts';
import type { House } from '../pipeline/house.ts';

/** `draining`: nothing new begins, what is under way may end; `failed`: the stream errored, the process must stop. */
export type Phase = 'created' | 'running' | 'draining' | 'stopped' | 'failed';

/** How a worker came to its end. */
export type Stopped = 'drained' | 'aborted';

/** What a worker needs beside its house. */
export interface WorkerOptions {
  /** Longest time for what is under way to end after a stop, milliseconds. */
  readonly drainMs: number;
  /** Called once if the stream errors: the process should stop. */
  readonly onFailure: (error: LarkspurError) => void;
}

/** One worker: subscribes to the pipeline, keeps its leases, and takes it down in order. */
export class Worker {
  readonly #house: House;
  readonly #options: WorkerOptions;
  readonly #running: Subscription[] = [];
  #cancelRenewal = (): void => undefined;
  #phase: Phase = 'created';
  #settled = 0;
  #stopping: Promise<Stopped> | undefined;

  constructor(house: House, options: WorkerOptions) {
    this.#house = house;
    this.#options = options;
  }

  /** Where it stands. */
  get phase(): Phase {
    return this.#phase;
  }

  /** Records ended since the start. */
  get settled(): number {
    return this.#settled;
  }

  /** Joins the group and begins. Returns at once; whether records flow is the source's `ready`. */
  start(): void {
    if (this.#phase !== 'created') throw new LarkspurError('internal', `a worker starts once; it is ${this.#phase}`);
    this.#phase = 'running';
    this.#running.push(
      dispatchPipeline(this.#house)(this.#house.source.event$).subscribe({
        next: ({ ending }) => {
          if (ending !== 'held') this.#settled++;
        },
        error: (error: unknown) => this.#fail(error),
        complete: () => undefined,
      }),
      this.#house.returnClaims$.subscribe({ error: (error: unknown) => this.#fail(error) }),
      this.#house.probes$.subscribe({ error: (error: unknown) => this.#fail(error) }),
    );
    this.#renewLater();
  }

  /**
   * Stops: nothing new begins, what is under way gets `drainMs` to end, then is aborted; claims of waiting calls are
   * given back, what is done is committed, the group is left. Never rejects; a second call joins the first.
   */
  stop(): Promise<Stopped> {
    this.#stopping ??= this.#stopInOrder();
    return this.#stopping;
  }

  async #stopInOrder(): Promise<Stopped> {
    const { timers, log, sink } = this.#house;
    if (this.#phase === 'running') this.#phase = 'draining';
    let cancelLimit = (): void => undefined;
    const limit = new Promise<'aborted'>((resolve) => {
      cancelLimit = timers.after(this.#options.drainMs, () => resolve('aborted'));
    });
    const within = async (steps: Promise<unknown>): Promise<Stopped> =>
      Promise.race([steps.then(() => 'drained' as const), limit]);
    let outcome: Stopped = 'aborted';
    try {
      // After an error nothing that is under way can end any more, so nobody waits for it.
      if (this.#phase !== 'failed') {
        outcome = await within(firstValueFrom(this.#house.drain(), { defaultValue: undefined }));
        if (outcome === 'aborted') this.#tellCutOff();
      }
      await within(firstValueFrom(sink.flush(), { defaultValue: undefined }));
      await within(firstValueFrom(this.#house.finish(), { defaultValue: undefined }));
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        'the worker did not stop in order; what is unfinished will be delivered again',
      );
    }
    cancelLimit();
    this.#cancelRenewal();
    for (const subscription of this.#running) subscription.unsubscribe();
    if (this.#phase !== 'failed') this.#phase = 'stopped';
    return outcome;
  }

  #tellCutOff(): void {
    const { log } = this.#house;
    const { drainMs } = this.#options;
    const text = 'the time for an orderly end is over: what is under way is cut off and will be delivered again';
    log.warn({ ...underWayNow(this.#house), drainMs }, text);
  }

  #renewLater(): void {
    const { keeper, timers, log } = this.#house;
    this.#cancelRenewal = timers.after(keeper.renewEveryMs, () => {
      this.#running.push(
        keeper.renew().subscribe({
          error: (error: unknown) =>
            log.warn({ error: messageOf(error) }, 'leases were not renewed; they are tried again'),
        }),
      );
      // Only what may still be open is kept: one renewal each ten seconds for months would pile up.
      while (this.#running.length > 5) this.#running.splice(3, 1);
      this.#renewLater();
    });
  }

  #fail(error: unknown): void {
    this.#phase = 'failed';
    this.#options.onFailure(
      error instanceof LarkspurError ? error : new LarkspurError('internal', messageOf(error), { cause: error }),
    );
  }
}
