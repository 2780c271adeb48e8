import { describe, expect, it } from 'vitest';

import { readScenario } from '../../../../src/config/scenario.ts';
import type { Figures } from '../../../../src/runtime/chaos/figures.ts';
import { runScenario } from '../../../../src/runtime/chaos/run-scenario.ts';
import type { Stage } from '../../../../src/runtime/chaos/stage.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const written = `
name: two-faults
hypothesis: it holds
target: workers
blastRadius: { upstreams: [news], mostMs: 60000 }
durationMs: 10000
faults:
  - { kind: latency, afterMs: 1000, forMs: 2000 }
  - { kind: '503', rate: 0.5, afterMs: 2000, forMs: 4000 }
abort: [{ figure: answeredShare, below: 0.5 }]
expect: [{ figure: deadLetters, atMost: 0 }]
`;

/** Plays a scenario on a stage that only notes what it is told, in virtual time. */
async function played(
  text: string,
  figuresAt: (ms: number) => Figures | Promise<Figures>,
  overMs = 10_000,
  stop?: Promise<unknown>,
) {
  const time = new VirtualTime();
  const steps: [number, string[]][] = [];
  const state = { closed: 0 };
  const stage: Stage = {
    start: () => Promise.resolve(),
    setFaults: (rules) => {
      steps.push([time.now(), rules.map(({ kind }) => kind)]);
      return Promise.resolve();
    },
    look: () => new Promise((resolve) => resolve(figuresAt(time.now()))),
    isOver: () => time.now() >= overMs,
    conclude: () => Promise.resolve({}),
    close: () => {
      state.closed++;
      return Promise.resolve(['something is left']);
    },
  };
  const options = {
    clock: time,
    timers: time,
    by: 'ana',
    seed: 1,
    forced: false,
    ...(stop === undefined ? {} : { stop }),
  };
  const ended = runScenario(readScenario(text, 'FILE'), stage, options);
  await time.advanceAsync(100_000);
  return { run: await ended, steps, state };
}

const well = (): Figures => ({ deadLetters: 0, answeredShare: 1 });

describe('runScenario', () => {
  it('lets faults come and go at their times, and leaves none behind', async () => {
    const { run, steps, state } = await played(written, well);
    expect(run).toMatchObject({ verdict: 'confirmed', durationMs: 10_000, findings: ['something is left'] });
    const [before, ...changes] = steps;
    expect(before).toEqual([0, []]);
    expect(changes.slice(0, 4)).toEqual([
      [1_000, ['latency']],
      [2_000, ['latency', '503']],
      [3_000, ['503']],
      [6_000, []],
    ]);
    expect(changes.slice(4).every(([, kinds]) => kinds.length === 0)).toBe(true);
    expect(state.closed).toBe(1);
  });

  it('ends them at once, within one look, when a bound of abort is broken; what is not known yet breaks none', async () => {
    const { run, steps } = await played(written, (ms) => ({
      deadLetters: 0,
      answeredShare: ms < 500 ? NaN : ms < 2_400 ? 1 : 0.4,
    }));
    expect(run).toMatchObject({ verdict: 'aborted', why: 'answeredShare was 0.4, not at least 0.5' });
    expect(steps.filter(([, kinds]) => kinds.length > 0).at(-1)?.[0]).toBe(2_000);
    expect(steps.find(([ms, kinds]) => ms > 2_000 && kinds.length === 0)?.[0]).toBe(2_500);
  });

  it('closes the stage also when the stage fails, and tells what is left', async () => {
    const { run, state } = await played(written, (ms) => {
      if (ms > 1_500) throw new Error('the worker is gone');
      return well();
    });
    expect(run).toMatchObject({
      ...{ verdict: 'aborted', why: 'the worker is gone', startedAt: '2026-01-01T00:00:00.000Z' },
      findings: ['the run broke: the worker is gone', 'something is left'],
    });
    expect(state.closed).toBe(1);
  });

  it('lasts no longer than its blast radius allows, however long the stage goes on', async () => {
    const long = written.replace('mostMs: 60000', 'mostMs: 10000').replace('forMs: 4000', 'forMs: 80000');
    const { steps } = await played(long, well, 20_000);
    expect(steps.find(([ms, kinds]) => ms > 3_000 && kinds.length === 0)?.[0]).toBe(10_000);
  });

  it('stops when somebody wants it to', async () => {
    const { run, steps } = await played(written, well, 10_000, Promise.resolve());
    expect(run).toMatchObject({ verdict: 'aborted', why: 'somebody stopped it' });
    expect(steps.every(([, kinds]) => kinds.length === 0)).toBe(true);
  });

  it('stops although a worker that is asked gives no answer', async () => {
    let asked = 0;
    const hangs = () => (asked++ === 0 ? new Promise<Figures>(() => undefined) : well());
    const stop = new Promise((resolve) => setImmediate(resolve));
    const { run } = await played(written, hangs, 10_000, stop);
    expect(run).toMatchObject({ verdict: 'aborted', why: 'somebody stopped it' });
  });

  it('is refuted by a figure that could not be measured: nothing was shown', async () => {
    const { run } = await played(written.replace('deadLetters, atMost: 0', 'fallbackSuccess, atLeast: 0.99'), well);
    expect(run).toMatchObject({
      verdict: 'refuted',
      findings: ['fallbackSuccess could not be measured: nothing of the kind happened', 'something is left'],
    });
  });
});
