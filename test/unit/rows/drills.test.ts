import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { ChaosRun } from '../../../src/runtime/chaos/ledger.ts';
import { play, scenarioFolder, scenarioNamed } from '../../support/scenario-file.ts';

const longMs = 90_000;
const failedBars = ({ bars }: ChaosRun) => bars.filter(({ pass }) => !pass);

describe('scenarios that come along, against the sandbox', () => {
  it.each(['gateway-timeout', 'unavailable', 'refusals', 'reset'])(
    'S000-73: %s keeps each invariant, and each is told as a bar',
    async (name) => {
      const run = await play(scenarioNamed(name));
      expect([failedBars(run), run.findings, run.verdict]).toEqual([[], [], 'confirmed']);
      expect(run.bars.map((bar) => bar.name)).toEqual(
        expect.arrayContaining(['lost', 'twice', 'outOfOrder', 'faults']),
      );
    },
    longMs,
  );

  it(
    'S000-87: 100 ms more on the way to one upstream: fallbacks succeed in 99 % or more, and p99 grows by 110 ms at most',
    async () => {
      // Disturbed and control run side by side, and yet a crowded machine may hold one call up: what is measured in
      // milliseconds, and that alone, is forgiven some times.
      const late = (run: ChaosRun) => failedBars(run).filter(({ name }) => name.endsWith('AddedMs'));
      let run: ChaosRun;
      let tries = 0;
      do {
        run = await play(scenarioNamed('latency-100ms'), ++tries);
        expect(failedBars(run)).toEqual(late(run));
        expect(run.figures.fallbackSuccess).toBeGreaterThanOrEqual(0.99);
      } while (late(run).length > 0 && tries < 6);
      expect([failedBars(run), run.verdict]).toEqual([[], 'confirmed']);
      expect(run.figures.p99AddedMs).toBeLessThanOrEqual(110);
    },
    longMs,
  );

  const incidents = readdirSync(join(scenarioFolder, 'incidents')).map((file) => file.replace('.yaml', ''));
  it('come with incidents', () => {
    expect(incidents.length).toBeGreaterThanOrEqual(3);
  });

  it.each(incidents)(
    'S000-97: the incident %s is told in its file, and its replay goes well',
    async (name) => {
      const scenario = scenarioNamed(`incidents/${name}`);
      expect(scenario.incident).toBeDefined();
      const run = await play(scenario);
      expect([failedBars(run), run.verdict]).toEqual([[], 'confirmed']);
    },
    longMs,
  );

  it(
    'tells a belief that does not hold: refuted, with what was found',
    async () => {
      const scenario = scenarioNamed('incidents/read-that-times-out');
      // Without the declared answer these reads have none.
      const { fallback: _fallback, ...news } = scenario.upstreams['news']!;
      const run = await play({
        ...scenario,
        upstreams: { news: { ...news, retry: 'off' } },
        load: { calls: 20, perSecond: 100, keys: 20 },
      });
      expect(run.verdict).toBe('refuted');
      expect(run.findings.join()).toContain('deadLetters was 20, not at most 0');
    },
    longMs,
  );

  it(
    'ends the faults at once when a bound of abort is broken, and still tells what became of every call',
    async () => {
      const scenario = scenarioNamed('unavailable');
      const run = await play({
        ...scenario,
        abort: [{ figure: 'faults', least: undefined, most: 3 }],
        load: { calls: 2_000, perSecond: 40, keys: 20 },
      });
      expect(run).toMatchObject({ verdict: 'aborted', why: expect.stringMatching(/^faults was/) as string });
      expect(run.figures).toMatchObject({ lost: 0, twice: 0, outOfOrder: 0 });
      expect(run.durationMs).toBeLessThan(30_000);
    },
    longMs,
  );
});
