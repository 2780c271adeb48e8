import type { Bound, Scenario, TimedFault } from '../../config/scenario.ts';
import { messageOf } from '../../model/errors.ts';
import type { InjectedFault } from '../../model/injected-fault.ts';
import { isoTime } from '../../model/time.ts';
import { after } from '../../operators/interop/after.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import { oneValue } from '../one-value.ts';
import type { Bar } from '../report.ts';

import { barsOf, barText, broken, type Figures } from './figures.ts';
import type { ChaosRun } from './ledger.ts';
import type { Stage } from './stage.ts';

/** What a run is told beside its scenario. */
export interface RunOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly by: string;
  readonly seed: number;
  readonly forced: boolean;
  /** Told some times a second, for who watches. */
  readonly tell?: (elapsedMs: number, figures: Figures) => void;
  /** Resolves when somebody wants it to end. */
  readonly stop?: Promise<unknown>;
}

// So soon after a bound is broken the faults are gone.
const lookEveryMs = 250;

// Whatever a scenario says: with the sandbox these are known, and nothing excuses them.
const always: readonly Bound[] = (['lost', 'twice', 'outOfOrder'] as const).map((figure) => ({
  ...{ figure, least: undefined, most: 0 },
}));

/**
 * Plays a scenario on a stage: faults come and go by its times, and all at once when a bound of `abort` is broken, when it has taken
 * `blastRadius.mostMs`, or when somebody stops it. A stage that fails breaks it off. The stage is closed in any case, and what may be left
 * of its faults is a finding.
 */
export async function runScenario(scenario: Scenario, stage: Stage, options: RunOptions): Promise<ChaosRun> {
  const startedAt = isoTime(options.clock.wall());
  const run = await played(scenario, stage, options, startedAt).catch((error: unknown) =>
    brokenRun(scenario, options, error, startedAt),
  );
  const left = await stage.close();
  return { ...run, findings: [...run.findings, ...left] };
}

async function played(scenario: Scenario, stage: Stage, options: RunOptions, startedAt: string): Promise<ChaosRun> {
  const { clock } = options;
  const startedMs = clock.now();
  await stage.start(runId(scenario, startedAt));
  const why = await play(scenario, stage, options, startedMs);
  const figures = { ...(await stage.look()), ...(await stage.conclude()) };
  const bounds = [...(scenario.target === 'sandbox' ? always : []), ...scenario.expect];
  const bars = once(barsOf(bounds, figures));
  const failed = bars.filter(({ pass }) => !pass).map(barText);
  const verdict = why !== undefined ? 'aborted' : failed.length > 0 ? 'refuted' : 'confirmed';
  return {
    ...headOf(scenario, options, startedAt),
    durationMs: Math.round(clock.now() - startedMs),
    ...{ verdict, bars, figures },
    ...(why === undefined ? {} : { why }),
    findings: [...(why === undefined ? [] : [`aborted: ${why}`]), ...failed],
  };
}

/** The entry of a run that was not allowed to begin. */
export function refusedRun(
  scenario: Scenario,
  options: RunOptions,
  why: string,
  startedAt = isoTime(options.clock.wall()),
): ChaosRun {
  const head = headOf(scenario, options, startedAt);
  return { ...head, durationMs: 0, verdict: 'refused', why, bars: [], figures: {}, findings: [] };
}

function headOf({ name, hypothesis, target }: Scenario, { by, seed, forced }: RunOptions, startedAt: string) {
  return { id: runId({ name }, startedAt), scenario: name, hypothesis, target, startedAt, by, seed, forced };
}

function runId({ name }: Pick<Scenario, 'name'>, startedAt: string): string {
  return `${name}-${startedAt.replace(/[-:]|\.\d+/g, '')}`;
}

/** Resolves when it is over, with why it was cut short. */
async function play(
  scenario: Scenario,
  stage: Stage,
  { clock, timers, tell, stop }: RunOptions,
  startedMs: number,
): Promise<string | undefined> {
  const seen = { stopped: false, tell: (): void => undefined };
  void stop?.then(() => {
    seen.stopped = true;
    seen.tell();
  });
  // Whoever stops it waits for nobody's answer.
  const orStopped = <T>(work: Promise<T>): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      seen.tell = () => resolve(undefined);
      work.then(resolve, reject);
      if (seen.stopped) resolve(undefined);
    });
  let inForce = '';
  for (;;) {
    const elapsedMs = clock.now() - startedMs;
    const rules = elapsedMs < scenario.blastRadius.mostMs ? activeAt(scenario, elapsedMs) : [];
    if (JSON.stringify(rules) !== inForce) {
      await stage.setFaults(rules);
      inForce = JSON.stringify(rules);
    }
    const figures = (await orStopped(stage.look())) ?? {};
    tell?.(elapsedMs, figures);
    const why = seen.stopped ? 'somebody stopped it' : broken(scenario.abort, figures);
    if (why !== undefined || stage.isOver()) {
      await stage.setFaults([]);
      return why;
    }
    await orStopped(oneValue(after(timers, lookEveryMs)));
  }
}

function activeAt({ faults, background }: Scenario, elapsedMs: number): InjectedFault[] {
  const isActive = ({ fromMs, toMs }: TimedFault): boolean => fromMs <= elapsedMs && elapsedMs < toMs;
  return [...background, ...faults].filter(isActive).map(({ rule }) => rule);
}

function once(bars: readonly Bar[]): Bar[] {
  return bars.filter((bar, index) => bars.findIndex((other) => same(other, bar)) === index);
}

function same(a: Bar, b: Bar): boolean {
  return a.name === b.name && a.atLeast === b.atLeast && a.atMost === b.atMost;
}

/** What went wrong so that a run could not be played at all, as an entry. */
export function brokenRun(
  scenario: Scenario,
  options: RunOptions,
  error: unknown,
  startedAt = isoTime(options.clock.wall()),
): ChaosRun {
  const why = messageOf(error);
  return { ...refusedRun(scenario, options, why, startedAt), verdict: 'aborted', findings: [`the run broke: ${why}`] };
}
