import { systemClock, systemTimers } from '../../adapters/system/clock.ts';
import type { Config } from '../../config/config.ts';
import type { Scenario } from '../../config/scenario.ts';
import { messageOf } from '../../model/errors.ts';
import { adminAddresses } from '../admin-client.ts';

import { addRun, type ChaosRun, openLedger } from './ledger.ts';
import { brokenRun, refusedRun, type RunOptions, runScenario } from './run-scenario.ts';
import { openSandboxStage } from './sandbox-stage.ts';
import { refusalOf } from './standing.ts';
import { WorkerStage } from './worker-stage.ts';

/** How a scenario is to be run. */
export interface DrillOptions extends Pick<RunOptions, 'tell' | 'stop' | 'by' | 'seed'> {
  readonly config: Config;
  /** Admin ports of the workers; none: the configured one. */
  readonly urls: readonly string[];
  /** Whether to run whatever the guard says. */
  readonly force: boolean;
  /** File that the run is added to. */
  readonly ledger: string;
}

/**
 * Runs a scenario where it belongs, if its guard lets it, and writes the run down. Never rejects for what the run met; where nothing can be
 * written down nothing is hurt.
 */
export async function drill(scenario: Scenario, options: DrillOptions): Promise<ChaosRun> {
  const { force, ledger, ...rest } = options;
  const runOptions: RunOptions = { ...rest, clock: systemClock, timers: systemTimers, forced: force };
  await openLedger(ledger);
  const run = await attempt(scenario, options, runOptions).catch((error: unknown) =>
    brokenRun(scenario, runOptions, error),
  );
  await addRun(ledger, run);
  return run;
}

async function attempt(
  scenario: Scenario,
  { config, urls, force, seed, by }: DrillOptions,
  options: RunOptions,
): Promise<ChaosRun> {
  if (scenario.target === 'sandbox') return runScenario(scenario, await openSandboxStage(scenario, seed), options);
  const stage = new WorkerStage(scenario, adminAddresses(config, urls), options.clock, by);
  // Nothing overrules that: it would end what somebody else looks at.
  const occupied = await stage.occupied().catch((error: unknown) => messageOf(error));
  if (occupied !== undefined) return refusedRun(scenario, options, occupied);
  const refusal = await stage.standing().then(
    (standing) => refusalOf(scenario, standing),
    (error: unknown) => messageOf(error),
  );
  if (refusal !== undefined && !force) return refusedRun(scenario, options, refusal);
  return runScenario(scenario, stage, options);
}
