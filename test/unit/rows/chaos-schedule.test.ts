import { describe, expect, it, onTestFinished } from 'vitest';

import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import { reportLines } from '../../../src/cli/chaos-text.ts';
import { mistakesOf } from '../../../src/config/mistake.ts';
import { addRun, readRuns, reportOfRuns } from '../../../src/runtime/chaos/ledger.ts';
import { runScenario } from '../../../src/runtime/chaos/run-scenario.ts';
import { openSandboxStage } from '../../../src/runtime/chaos/sandbox-stage.ts';
import { readSchedule } from '../../../src/runtime/chaos/schedule-file.ts';
import { startSchedule } from '../../../src/runtime/chaos/scheduler.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { scenarioNamed } from '../../support/scenario-file.ts';
import { noLogger } from '../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

const hourMs = 3_600_000;
// 02:00 in Shanghai.
const startMs = Date.UTC(2026, 10, 1, 18);

/** Lets a schedule go on for some hours; tells what ran at which hour since the start. */
async function playedFor(
  hours: number,
  text: string,
  run: (file: string, seed: number) => Promise<unknown> = () => Promise.resolve(),
) {
  const time = new VirtualTime(startMs);
  const ran: { hour: number; file: string; seed: number }[] = [];
  let open = Promise.resolve();
  const stop = startSchedule(readSchedule(text, 'FILE'), {
    ...{ clock: time, timers: time, random: seededRandom(7), log: noLogger },
    run: (file, seed) => {
      ran.push({ hour: time.now() / hourMs, file, seed });
      const running = run(file, seed);
      open = running.then(
        () => undefined,
        () => undefined,
      );
      return running;
    },
  });
  for (let hour = 0; hour < hours; hour++) {
    await time.advanceAsync(hourMs);
    await open;
    await time.advanceAsync(0);
  }
  return { time, ran, stop };
}

const nightly = `timezone: Asia/Shanghai
runs:
  - { cron: '0 3 * * *', scenarios: [unavailable, reset, refusals] }
`;

describe('chaos --schedule', () => {
  it(
    'S000-88: runs nightly for a week, and the report lists runs, findings and invariants',
    { timeout: 120_000 },
    async () => {
      const files = new ConfigFiles();
      onTestFinished(() => files.remove());
      const ledger = files.write('', 'chaos.jsonl');
      const { ran, stop } = await playedFor(24 * 7, nightly, async (name, seed) => {
        const whole = scenarioNamed(name);
        // One of them is told to expect what does not happen, so that there is a finding.
        const expectMore = name === 'unavailable' ? [{ figure: 'retries' as const, least: 1e6, most: undefined }] : [];
        const scenario = {
          ...whole,
          load: { calls: 40, perSecond: 200, keys: 20 },
          expect: [...whole.expect.filter(({ figure }) => figure === 'liveShare'), ...expectMore],
          faults: whole.faults.map((fault) => ({ ...fault, fromMs: 0 })),
        };
        const options = { clock: systemClock, timers: systemTimers, by: 'the schedule', seed, forced: false };
        await addRun(ledger, await runScenario(scenario, await openSandboxStage(scenario, seed), options));
      });
      stop();

      expect(ran.map(({ hour }) => hour)).toEqual([1, 25, 49, 73, 97, 121, 145]);
      expect(new Set(ran.map(({ file }) => file)).size).toBeGreaterThan(1);
      const report = reportOfRuns(await readRuns(ledger));
      expect(report.runs).toHaveLength(7);
      expect(report.invariants).toEqual(
        expect.arrayContaining([
          { name: 'lost', runs: 7, broken: 0 },
          { name: 'twice', runs: 7, broken: 0 },
        ]),
      );
      const bad = ran.filter(({ file }) => file === 'unavailable').length;
      expect(bad).toBeGreaterThan(0);
      expect(report.findings).toHaveLength(bad);
      const lines = reportLines(report).join('\n');
      for (const part of ['runs', 'findings', 'invariants', 'retries was', 'broken in 0 of 7 runs'])
        expect(lines).toContain(part);
    },
  );

  it('picks by its seed: the same seed picks the same', async () => {
    const [one, other] = [await playedFor(24 * 7, nightly), await playedFor(24 * 7, nightly)];
    expect(one.ran).toEqual(other.ran);
  });

  it('runs one at a time, and leaves out times that were over when one ended', async () => {
    let end = (): void => undefined;
    const hourly = "runs: [{ cron: '0 * * * *', scenarios: [a] }]";
    const time = new VirtualTime(startMs);
    const began: number[] = [];
    startSchedule(readSchedule(hourly, 'FILE'), {
      ...{ clock: time, timers: time, random: seededRandom(1), log: noLogger },
      run: () => {
        began.push(time.now() / hourMs);
        return new Promise<void>((resolve) => (end = resolve));
      },
    });
    await time.advanceAsync(3.5 * hourMs);
    end();
    await time.advanceAsync(hourMs);
    expect(began).toEqual([1, 4]);
  });

  it('goes on after a run that failed', async () => {
    const { ran } = await playedFor(3, "runs: [{ cron: '0 * * * *', scenarios: [a] }]", () =>
      Promise.reject(new Error('x')),
    );
    expect(ran).toHaveLength(3);
  });

  it('tells all mistakes of its file, each with its line', () => {
    const told = (text: string): readonly string[] => {
      try {
        readSchedule(text, 'FILE');
      } catch (error) {
        return mistakesOf(error);
      }
      return [];
    };
    expect(
      told("runs:\n  - { cron: '0 25 * * *', scenarios: [a] }\n  - { cron: 'x', scenarios: [a] }\n").map((line) =>
        line.slice(0, 25),
      ),
    ).toEqual(['runs[0].cron (FILE:2): is', 'runs[1].cron (FILE:3): is']);
    expect(told('runs:\n  - { cron: 5, scenarios: [] }\n')).toHaveLength(2);
    expect(told("runs:\n  - { cron: '0 3 * * *' }\n")).toEqual([
      expect.stringMatching(/^runs\[0\]\.scenarios \(FILE:2\): is missing/),
    ]);
    expect(told("timezone: Moon/Crater\nruns: [{ cron: '0 3 * * *', scenarios: [a] }]\n")).toHaveLength(1);
  });
});
