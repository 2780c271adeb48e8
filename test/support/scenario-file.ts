import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock, systemTimers } from '../../src/adapters/system/clock.ts';
import { readScenario, type Scenario } from '../../src/config/scenario.ts';
import type { ChaosRun } from '../../src/runtime/chaos/ledger.ts';
import { runScenario } from '../../src/runtime/chaos/run-scenario.ts';
import { openSandboxStage } from '../../src/runtime/chaos/sandbox-stage.ts';

/** Where scenarios lie that come along. */
export const scenarioFolder = join(import.meta.dirname, '../../deploy/scenarios');

/** One of them, by its path without `.yaml`. */
export function scenarioNamed(path: string): Scenario {
  return readScenario(readFileSync(join(scenarioFolder, `${path}.yaml`), 'utf8'), `${path}.yaml`);
}

/** Plays one against the sandbox. */
export async function play(scenario: Scenario, seed = 1): Promise<ChaosRun> {
  const options = { clock: systemClock, timers: systemTimers, by: 'a test', seed, forced: false };
  return runScenario(scenario, await openSandboxStage(scenario, seed), options);
}
