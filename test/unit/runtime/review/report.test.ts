import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { auditRecord } from '../../../../src/model/audit.ts';
import { askIncident, askWeek } from '../../../../src/runtime/review/ask-review.ts';
import { incidentMarkdown } from '../../../../src/runtime/review/incident.ts';
import { type ChaosFinding, weekLines, weekReport } from '../../../../src/runtime/review/week.ts';
import { serve } from '../../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

const [from, to] = ['2026-01-01T00:00:00.000Z', '2026-01-08T00:00:00.000Z'];
const played = (at: string, state: string, dryRun: boolean, outcome: string) => ({
  ...{ at, by: 'playbook redis-slow', what: 'playbook/redis-slow', from: 'idle' },
  to: { state, dryRun, steps: [{ step: 'set redis.timeoutMs = 800', outcome }] },
});
const entries = [
  played('2026-01-02T00:00:00.000Z', 'ran', false, 'done'),
  played('2026-01-02T00:10:00.000Z', 'over', false, 'undone'),
  played('2026-01-03T00:00:00.000Z', 'ran', true, 'dry-run'),
  played('2026-01-04T00:00:00.000Z', 'ran', false, 'failed'),
  { at: '2026-01-05T00:00:00.000Z', by: 'ana', what: 'breaker/news', from: 'auto', to: 'open', reason: 'it moves' },
];
const runs: readonly ChaosFinding[] = [
  { scenario: 'old', startedAt: '2025-12-01T00:00:00.000Z', verdict: 'refuted', findings: [] },
  { scenario: 'hang', startedAt: '2026-01-02T00:00:00.000Z', verdict: 'confirmed', findings: [] },
  { scenario: 'flood', startedAt: '2026-01-03T00:00:00.000Z', verdict: 'refuted', findings: ['weather slowed down'] },
  { scenario: 'calm', startedAt: '2026-01-04T00:00:00.000Z', verdict: 'confirmed', findings: [] },
];
const slos = [
  { name: 'upstream/news', objective: 0.999, good: 990, bad: 10 },
  { name: 'upstream/weather', objective: 0.99, good: 1_000, bad: 0 },
];

describe('the report of a week', () => {
  it('S000-96: prints the biggest gap, the latest finding of chaos and the runs of playbooks, and who changed what', () => {
    const lines = weekLines(weekReport({ from, to, slos, runs, entries }));
    expect(lines).toEqual([
      `${from} to ${to}`,
      '',
      'biggest SLI gap       upstream/news: 99 % of 99.9 %, missed by 0.9 %, -900 % of the budget left',
      'latest chaos finding  flood (2026-01-03T00:00:00.000Z): refuted; weather slowed down',
      'playbook runs         redis-slow: 2 times, rehearsed 1, with failures 1, last 2026-01-04T00:00:00.000Z',
      'changes               playbook redis-slow 4, ana 1',
    ]);
  });

  it('adds the workers up, and says what there is not', () => {
    const two = weekReport({ from, to, slos: [slos[0]!, { ...slos[0]!, good: 1_000, bad: 0 }], runs: [], entries: [] });
    expect(two.biggestGap?.measured).toBeCloseTo(0.995);
    expect(weekLines(weekReport({ from, to, slos: [], runs: [], entries: [] })).slice(2)).toEqual([
      'biggest SLI gap       none: nothing was promised (slo), or nothing was called',
      'latest chaos finding  none: no scenario was run',
      'playbook runs         none',
      'changes               none',
    ]);
  });
});

describe('the timeline of an incident', () => {
  it('is Markdown in the order of the clock, with what was seen and what was done', () => {
    const happenings = [
      { at: '2026-01-02T00:00:05.000Z', what: 'upstream/news', says: 'breaker a|b: closed -> open' },
      { at: '2026-01-01T23:59:50.000Z', what: 'redis', says: 'Redis: there -> away' },
    ];
    const text = incidentMarkdown(from, to, happenings, [entries[0]!, entries[4]!]);
    expect(text.split('\n')).toEqual([
      `# Incident from ${from} to ${to}`,
      '',
      'Seen: 2 changes of upstream/news, redis. Done: 2 changes by playbook redis-slow, ana.',
      '',
      '| When | What | |',
      '| --- | --- | --- |',
      '| 2026-01-01T23:59:50.000Z | redis | Redis: there -> away |',
      '| 2026-01-02T00:00:00.000Z | playbook/redis-slow | **playbook redis-slow**: -> ran; set redis.timeoutMs = 800: done |',
      '| 2026-01-02T00:00:05.000Z | upstream/news | breaker a\\|b: closed -> open |',
      '| 2026-01-05T00:00:00.000Z | breaker/news | **ana**: -> "open" (it moves) |',
      '',
    ]);
    expect(incidentMarkdown(from, to, [], [])).toContain('Nothing was seen and nothing done.');
  });
});

describe('larkspur report', () => {
  it('asks a running worker, and without one the stores', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-report-'));
    const ledger = join(folder, 'chaos.jsonl');
    const now = new Date().toISOString();
    const run = { ...runs[2], id: 'r', target: 'sandbox', bars: [], startedAt: now };
    writeFileSync(ledger, `${JSON.stringify(run)}\n{"cut":`);
    const { config } = files.load(`
data: ${folder}/data
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { news: { baseUrl: 'http://127.0.0.1:1', slo: { objective: 0.99 } } }
`);
    const served = await serve(config, [], { worker: true, ingress: false });
    let places = { config, log: noLogger, urls: [served.adminUrl] };
    try {
      await only(served.stores.sink.append(auditRecord({ ...entries[0]!, at: now })));
      const week = await askWeek(places, 7, ledger);
      expect(week).toMatchObject({ latestChaos: { scenario: 'flood' }, playbooks: [{ name: 'redis-slow', ran: 1 }] });
      expect(await askIncident(places, week.from, week.to)).toContain('playbook redis-slow');
    } finally {
      await served.stop();
    }
    places = { ...places, urls: [] };
    const gone = {
      ...places,
      config: { ...config, listen: { ...config.listen, admin: { host: '127.0.0.1', port: 1 } } },
    };
    expect(await askWeek(gone, 7, join(folder, 'none.jsonl'))).toMatchObject({
      biggestGap: undefined,
      latestChaos: undefined,
      playbooks: [{ name: 'redis-slow', ran: 1 }],
    });
  });
});
