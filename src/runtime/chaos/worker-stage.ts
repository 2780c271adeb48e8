import { longestForMs } from '../../adapters/http/fault-routes.ts';
import type { Scenario } from '../../config/scenario.ts';
import { LarkspurError } from '../../model/errors.ts';
import type { InjectedFault } from '../../model/injected-fault.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { type AdminAddress, askAdmin, askMetrics } from '../admin-client.ts';

import { between, type Counts, countsOf, quantileMs, sumOf } from './counts.ts';
import { type Figures, figuresOf } from './figures.ts';
import { type Samples, samplesOn } from './metric-text.ts';
import type { Stage } from './stage.ts';
import { type Standing, standingOf } from './standing.ts';

interface Looked {
  readonly inside: Counts;
  readonly outside: Counts;
}

// Faults of a run that died go by themselves so long after its last word.
const graceMs = 30_000;
// Who does not answer holds up a run no longer.
const patienceMs = 5_000;

/** Workers that are there, by their admin ports: faults through `/admin/faults`, figures out of `/metrics` of before and during. */
export class WorkerStage implements Stage {
  readonly #scenario: Scenario;
  readonly #workers: readonly AdminAddress[];
  readonly #clock: Clock;
  readonly #who: string;
  #by = '';
  /** Where faults of ours may be in force, and until when they are there at most. */
  readonly #untilWallMs = new Map<AdminAddress, number>();
  /** Each worker by itself: one may be restarted. */
  #before: readonly Looked[] | undefined;
  #startedMs = 0;

  /** @param who runs it, for the audit */
  constructor(scenario: Scenario, workers: readonly AdminAddress[], clock: Clock, who: string) {
    this.#scenario = scenario;
    this.#workers = workers.map((worker) => ({ ...worker, patienceMs }));
    this.#clock = clock;
    this.#who = who;
  }

  async start(run: string): Promise<void> {
    // As long as the door takes it.
    this.#by = `${run} ${this.#who}`.slice(0, 100);
    this.#before = (await this.#metrics()).map((metrics) => this.#counts(metrics));
    this.#startedMs = this.#clock.now();
  }

  async setFaults(rules: readonly InjectedFault[]): Promise<void> {
    const { name, durationMs } = this.#scenario;
    const leftMs = Math.max(1_000, durationMs - (this.#clock.now() - this.#startedMs) + graceMs);
    const forMs = Math.min(Math.ceil(leftMs), longestForMs);
    const body = { rules, by: this.#by, reason: `chaos scenario ${name}`, forMs };
    const concerned = rules.length === 0 ? [...this.#untilWallMs.keys()] : this.#workers;
    // One that fails must not keep the others from being asked.
    const ended = await Promise.allSettled(concerned.map((worker) => this.#order(worker, body)));
    for (const one of ended) if (one.status === 'rejected') throw one.reason as Error;
  }

  async look(): Promise<Figures> {
    const workers = await this.#metrics();
    const { inside, outside } = this.#since(workers);
    const { score } = standingOf(workers, this.#scenario.blastRadius.upstreams);
    return { ...figuresOf(inside, outside), ...(score === undefined ? {} : { score }) };
  }

  /** Why there is no room for a run: somebody's faults are in force, and would be replaced. */
  async occupied(): Promise<string | undefined> {
    const orders = await Promise.all(this.#workers.map((worker) => this.#orderedBy(worker)));
    const [first] = orders.flatMap((by, index) => (by === undefined ? [] : [{ by, url: this.#workers[index]?.url }]));
    return first === undefined ? undefined : `faults of ${first.by} are in force at ${first.url ?? ''}`;
  }

  async #orderedBy(worker: AdminAddress): Promise<string | undefined> {
    return (await askAdmin<{ orderedBy?: string }>(worker, { path: '/admin/faults' })).orderedBy;
  }

  /** How things stand before the run. */
  async standing(): Promise<Standing> {
    return standingOf(await this.#metrics(), this.#scenario.blastRadius.upstreams);
  }

  isOver(): boolean {
    return this.#clock.now() - this.#startedMs >= this.#scenario.durationMs;
  }

  async conclude(): Promise<Figures> {
    const { inside } = this.#since(await this.#metrics());
    const before = this.#before === undefined ? inside : sumOf(this.#before.map((worker) => worker.inside));
    const added = (share: number): number => quantileMs(inside, share) - quantileMs(before, share);
    return { p50AddedMs: added(0.5), p99AddedMs: added(0.99) };
  }

  async close(): Promise<readonly string[]> {
    await this.setFaults([]).catch(() => undefined);
    return [...this.#untilWallMs].map(
      ([{ url }, untilMs]) => `faults may still be on at ${url} until ${isoTime(untilMs)}`,
    );
  }

  async #order(worker: AdminAddress, body: { readonly rules: readonly InjectedFault[]; readonly forMs: number }) {
    const ends = body.rules.length === 0;
    // Who gives no answer may have done it all the same.
    if (!ends) this.#untilWallMs.set(worker, this.#clock.wall() + body.forMs);
    // What somebody else has ordered meanwhile is theirs.
    const isOurs = !ends || (await this.#orderedBy(worker)) === this.#by;
    const put = { method: 'PUT', path: '/admin/faults', body } as const;
    if (isOurs)
      await askAdmin(worker, put).catch((error: unknown) => {
        // Where faults are off there are none.
        if (error instanceof LarkspurError && error.code === 'forbidden') this.#untilWallMs.delete(worker);
        throw error;
      });
    if (ends) this.#untilWallMs.delete(worker);
  }

  #metrics(): Promise<Samples[]> {
    return Promise.all(this.#workers.map(async (worker) => samplesOn(await askMetrics(worker))));
  }

  #since(workers: readonly Samples[]): Looked {
    const came = workers.map((metrics, index) => {
      const now = this.#counts(metrics);
      const before = this.#before?.[index] ?? now;
      return { inside: between(before.inside, now.inside), outside: between(before.outside, now.outside) };
    });
    return { inside: sumOf(came.map(({ inside }) => inside)), outside: sumOf(came.map(({ outside }) => outside)) };
  }

  #counts(metrics: Samples): Looked {
    const { upstreams } = this.#scenario.blastRadius;
    return {
      inside: countsOf(metrics, (name) => upstreams.includes(name)),
      // Records that are no calls belong to nobody.
      outside: countsOf(metrics, (name) => !upstreams.includes(name) && name !== 'none'),
    };
  }
}
