import { createMetrics } from '../../adapters/prometheus/metrics.ts';
import { systemClock, systemTimers } from '../../adapters/system/clock.ts';
import { compile } from '../../config/compile.ts';
import { complete } from '../../config/complete.ts';
import type { Config } from '../../config/config.ts';
import type { Scenario } from '../../config/scenario.ts';
import type { LarkspurError } from '../../model/errors.ts';
import type { InjectedFault } from '../../model/injected-fault.ts';
import { after } from '../../operators/interop/after.ts';
import type { Sandbox } from '../../sandbox/sandbox-api.ts';
import { createSandbox } from '../../sandbox/sandbox.ts';
import { seeded } from '../../sandbox/world-ports.ts';
import { readTerminals, type Terminal } from '../demo/terminals.ts';
import { effectsOwed, judge } from '../demo/verdict.ts';
import { oneValue } from '../one-value.ts';
import { openStores } from '../open-stores.ts';
import { type RunningWorker, startWorker } from '../start-worker.ts';
import { stderrLogger } from '../stderr-logger.ts';
import type { Stores, WorldParts } from '../stores.ts';

import { countsOf } from './counts.ts';
import { Faults } from './fault-desk.ts';
import { type Figures, figuresOf } from './figures.ts';
import { controlOf, type DrillCall, drillCalls } from './sandbox-load.ts';
import type { Stage } from './stage.ts';

// Longer than the first hold of a call that fails again and again.
const stalledMs = 30_000;

/**
 * A house of its own on a store in memory, with the sandbox as all of its upstreams: each call goes to an upstream that is hurt and, at the same
 * moment, to a control that is not, so that what else the machine does shows in both. The sandbox's ledger tells what took effect.
 */
export async function openSandboxStage(scenario: Scenario, seed: number): Promise<Stage> {
  const sandbox = await createSandbox({ seed, settings: { tierMode: 'off', chatPerSecond: 0 } });
  const metrics = createMetrics({ processMetrics: false });
  const log = stderrLogger('error', []);
  const parts: WorldParts & { metrics: typeof metrics } = {
    ...{ clock: systemClock, timers: systemTimers, random: seeded(seed + 1), log, metrics },
  };
  const config = configOf(scenario, sandbox.url);
  const stores = openStores(config, parts);
  const faults = new Faults(config.chaos, parts);
  return new SandboxStage({ scenario, sandbox, parts, config, stores, faults });
}

interface Opened {
  readonly scenario: Scenario;
  readonly sandbox: Sandbox;
  readonly parts: WorldParts & { readonly metrics: ReturnType<typeof createMetrics> };
  readonly config: Config;
  readonly stores: Stores;
  readonly faults: Faults;
}

class SandboxStage implements Stage {
  readonly #opened: Opened;
  readonly #calls;
  readonly #inside: ReadonlySet<string>;
  #worker: RunningWorker | undefined;
  #produced = 0;
  #failure: LarkspurError | undefined;
  #cancelNext = (): void => undefined;
  #moved = { settled: 0, atMs: 0 };

  constructor(opened: Opened) {
    this.#opened = opened;
    this.#calls = drillCalls(opened.scenario);
    this.#inside = new Set(opened.scenario.blastRadius.upstreams);
  }

  start(): Promise<void> {
    const { config, stores, parts, faults } = this.#opened;
    const failed = (error: LarkspurError): void => {
      this.#failure = error;
    };
    this.#worker = startWorker(config, stores, parts, failed, new Map(), faults);
    this.#moved = { settled: 0, atMs: parts.clock.now() };
    this.#produceNext(parts.clock.now());
    return Promise.resolve();
  }

  setFaults(rules: readonly InjectedFault[]): Promise<void> {
    this.#opened.faults.order(rules, 'a chaos run', this.#opened.scenario.blastRadius.mostMs);
    return Promise.resolve();
  }

  look(): Promise<Figures> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { metrics } = this.#opened.parts;
    const isInside = (upstream: string): boolean => this.#inside.has(upstream);
    const [inside, outside] = [countsOf(metrics, isInside), countsOf(metrics, (upstream) => !isInside(upstream))];
    return Promise.resolve(figuresOf(inside, outside));
  }

  isOver(): boolean {
    return this.#hasEnded(this.#calls.length);
  }

  async conclude(): Promise<Figures> {
    const { sandbox, stores, parts } = this.#opened;
    this.#cancelNext();
    // A run that was cut short has calls under way.
    while (!this.#hasEnded(this.#produced)) await oneValue(after(parts.timers, 50));
    await this.#stopWorker();
    const terminals = await readTerminals(stores);
    const calls = this.#calls.slice(0, this.#produced).flat();
    const { lost, twice, outOfOrder } = judge(
      calls,
      terminals,
      sandbox.verdict({ calls: effectsOwed(calls, terminals) }),
    );
    const sides = sidesOf(calls, terminals);
    const added = (share: number): number => quantile(sides.inside, share) - quantile(sides.control, share);
    return {
      ...{ lost, twice, outOfOrder },
      p50AddedMs: added(0.5),
      p99AddedMs: added(0.99),
      recoverMs: sides.inside.reduce((most, { recoverMs = 0 }) => Math.max(most, recoverMs), 0),
    };
  }

  async close(): Promise<readonly string[]> {
    this.#cancelNext();
    const { faults, stores, sandbox } = this.#opened;
    await faults.stop();
    await this.#stopWorker();
    await stores.close();
    await sandbox.close();
    return [];
  }

  /** Whether so many pairs have ended, or nothing has for too long. */
  #hasEnded(pairs: number): boolean {
    const nowMs = this.#opened.parts.clock.now();
    const settled = this.#worker?.worker.settled ?? 0;
    if (settled !== this.#moved.settled) this.#moved = { settled, atMs: nowMs };
    return settled >= pairs * 2 || nowMs - this.#moved.atMs > stalledMs;
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#cancelNext();
    await worker?.stop();
  }

  /** Hands in what is due, however late the timer is: the pace is kept. */
  #produceNext(startedMs: number): void {
    const { scenario, stores, parts } = this.#opened;
    const everyMs = 1_000 / scenario.load.perSecond;
    const due = Math.min(this.#calls.length, 1 + Math.floor((parts.clock.now() - startedMs) / everyMs));
    for (const pair of this.#calls.slice(this.#produced, due)) {
      for (const { record } of pair) stores.sink.append(record).subscribe();
    }
    this.#produced = due;
    if (due < this.#calls.length) this.#cancelNext = parts.timers.after(everyMs, () => this.#produceNext(startedMs));
  }
}

/** The scenario's upstreams and a control of each, all at the sandbox. */
function configOf({ upstreams, blastRadius }: Scenario, url: string): Config {
  const at = (name: string) =>
    name === 'feishu' ? { profile: 'feishu' as const, baseUrl: url } : { baseUrl: `${url}/echo` };
  const names = new Set([...blastRadius.upstreams, ...Object.keys(upstreams)]);
  const both = [...names].flatMap((name) => {
    const written = { ...upstreams[name], ...at(name) };
    return [
      [name, written],
      [controlOf(name), written],
    ] as const;
  });
  const raw = {
    ...{ data: 'memory', drainMs: 2_000, apps: [{ id: 'cli_drill', secret: 'sandbox' }] },
    ...{ chaos: { injectFaults: true }, upstreams: Object.fromEntries(both) },
  };
  return compile(complete(raw, () => 'a scenario').value, new Map());
}

function sidesOf(calls: readonly DrillCall[], terminals: readonly Terminal[]) {
  const inside = new Map(calls.map(({ id, isInside }) => [id, isInside]));
  return {
    inside: terminals.filter(({ id }) => inside.get(id) === true),
    control: terminals.filter(({ id }) => inside.get(id) === false),
  };
}

/** Nearest rank, over the calls with an answer; NaN of none. */
function quantile(terminals: readonly Terminal[], share: number): number {
  const sorted = terminals.flatMap(({ totalMs }) => totalMs ?? []).sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
