import { endWith, firstValueFrom, ignoreElements, merge, type Observable, ReplaySubject, takeUntil } from 'rxjs';

import { LarkspurError } from '../../model/errors.ts';
import { after } from '../../operators/interop/after.ts';
import type { RunView } from '../../ports/dead-letter-desk.ts';
import type { WorldParts } from '../stores.ts';

const endedRunsKept = 100;
const closeWithinMs = 10_000;

/** One run, from its order until its end stands on `audit`. */
export class Run {
  view: RunView;
  readonly #stop$ = new ReplaySubject<void>(1);
  #open = true;

  constructor(view: RunView) {
    this.view = view;
  }

  /** Emits when it is to stop, also for a walk that begins after that; completes with the run. */
  get stop$(): Observable<void> {
    return this.#stop$;
  }

  /** Nothing further of it begins. */
  stop(): void {
    this.#stop$.next();
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Its end is written down. */
  end(): void {
    this.#open = false;
    this.#stop$.complete();
  }
}

/** The runs of this process: those under way, and the last hundred that have ended. */
export class Runs {
  readonly #runs = new Map<string, Run>();
  #isClosing = false;

  /** @throws LarkspurError `bad_request` when one of that name is running, or the process is about to end */
  begin(kind: RunView['kind'], run: string): Run {
    if (this.#isClosing) {
      throw new LarkspurError('bad_request', `${run} does not begin: this process is stopping`, {
        cure: 'order it again where a process goes on',
        retryable: true,
      });
    }
    if (this.#runs.get(run)?.view.state === 'running') {
      throw new LarkspurError('bad_request', `${run} is running already`, { cure: 'wait for its end, or stop it' });
    }
    const begun = new Run({ run, kind, state: 'running', counts: {}, left: 0 });
    this.#runs.delete(run);
    this.#runs.set(run, begun);
    for (const [name, { view }] of this.#runs) {
      if (this.#runs.size > endedRunsKept && view.state !== 'running') this.#runs.delete(name);
    }
    return begun;
  }

  get(run: string): Run | undefined {
    return this.#runs.get(run);
  }

  views(): readonly RunView[] {
    return [...this.#runs.values()].map(({ view }) => view);
  }

  /**
   * Begins no other and stops all in order; resolves when they have ended and stand on `audit`, at the latest after ten seconds: without Kafka
   * that record cannot be written, and a run that was cut off is resumed by its name.
   */
  async close({ timers, log }: Pick<WorldParts, 'timers' | 'log'>): Promise<void> {
    this.#isClosing = true;
    const ending = [...this.#runs.values()].filter(({ isOpen }) => isOpen);
    for (const run of ending) run.stop();
    const ended$ = merge(...ending.map(({ stop$ }) => stop$.pipe(ignoreElements()))).pipe(endWith(null));
    const isLate = await firstValueFrom(after(timers, closeWithinMs).pipe(takeUntil(ended$)), { defaultValue: false });
    const runs = ending.filter(({ isOpen }) => isOpen).map(({ view }) => view.run);
    if (isLate) log.warn({ runs }, 'redrives were left without their last record on audit: resume them by their names');
  }
}
