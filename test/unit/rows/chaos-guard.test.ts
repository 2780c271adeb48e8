import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readScenario } from '../../../src/config/scenario.ts';
import { drill } from '../../../src/runtime/chaos/drill.ts';
import { readRuns } from '../../../src/runtime/chaos/ledger.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const scenario = readScenario(
  `name: slow-news
hypothesis: readers of news hardly notice
target: workers
blastRadius: { upstreams: [news], share: 0.1 }
durationMs: 600
guard: { minScore: 75, minBudget: 0.2 }
faults: [{ kind: latency, rate: 0.1 }]
abort: [{ figure: score, below: 50 }]
expect: [{ figure: deadLetters, atMost: 0 }]
`,
  'scenario',
);

const page = (score: number | undefined, budgetLeft: number | undefined, overall = 100) =>
  [
    ...(score === undefined
      ? []
      : [`larkspur_health_score{upstream="news"} ${score}`, `larkspur_health_score_overall ${overall}`]),
    'larkspur_health_score{upstream="weather"} 3',
    ...(budgetLeft === undefined ? [] : [`larkspur_slo_budget_left_ratio{slo="upstream/news"} ${budgetLeft}`]),
    'larkspur_slo_budget_left_ratio{slo="upstream/weather"} -1',
    'larkspur_records_ended_total{upstream="news",ending="result",reason="ok"} 10',
  ].join('\n');

/** An admin port that tells these metrics and notes what is ordered, and a drill at it. */
async function atWorker(metrics: () => string, force = false, durationMs = scenario.durationMs, othersBy?: string) {
  const orders: { rules: unknown[]; by?: string }[] = [];
  const orderedBy = () =>
    orders.length === 0 ? othersBy : orders.at(-1)?.rules.length === 0 ? undefined : orders.at(-1)?.by;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'PUT') orders.push(JSON.parse(String(Buffer.concat(chunks))) as { rules: unknown[] });
      response.end(request.url === '/metrics' ? metrics() : JSON.stringify({ orderedBy: orderedBy() }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'larkspur-ledger-'));
  const files = new ConfigFiles();
  onTestFinished(async () => {
    server.close();
    files.remove();
    await rm(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ledger = join(folder, 'runs', 'chaos.jsonl');
  const { config } = files.load('{}');
  const run = await drill({ ...scenario, durationMs }, { config, urls: [url], force, ledger, seed: 1, by: 'ana' });
  return { run, orders, kept: await readRuns(ledger) };
}

describe('S000-84: chaos at workers', () => {
  it.each([
    ['the score of its upstream is low', page(74, 1), 'the health score is 74, below 75'],
    ['the score of a worker is low', page(90, 1, 60), 'the health score is 60, below 75'],
    ['nobody tells a score', page(undefined, 1), 'no worker tells its health score'],
    [
      'the error budget is nearly empty',
      page(90, 0.1),
      '10 % of the error budget of news is left, at least 20 % is needed',
    ],
    ['the error budget is overdrawn', page(90, -0.5), '-50 % of the error budget'],
  ])('is refused when %s: nothing is touched, and the ledger says why', async (_what, metrics, why) => {
    const { run, orders, kept } = await atWorker(() => metrics);
    expect(run).toMatchObject({ verdict: 'refused', forced: false });
    expect(run.why).toContain(why);
    expect(orders).toEqual([]);
    expect(kept).toMatchObject([{ scenario: 'slow-news', verdict: 'refused', why: run.why, by: 'ana' }]);
  });

  it('is refused while faults of somebody else are in force, also when it is forced: they would be replaced', async () => {
    const { run, orders } = await atWorker(() => page(90, 1), true, 600, 'ben');
    expect(run).toMatchObject({
      verdict: 'refused',
      why: expect.stringMatching(/^faults of ben are in force/) as string,
    });
    expect(orders).toEqual([]);
  });

  it('is refused when nobody answers, in words', async () => {
    const files = new ConfigFiles();
    const ledger = files.write('', 'chaos.jsonl');
    const { config } = files.load('{}');
    const run = await drill(scenario, {
      config,
      urls: ['http://127.0.0.1:1'],
      force: false,
      ledger,
      seed: 1,
      by: 'ana',
    });
    expect(run).toMatchObject({ verdict: 'refused', why: expect.stringMatching(/^no process answers at/) as string });
    files.remove();
  });

  it('runs when all is well, also where nothing was promised, and takes its faults away at the end', async () => {
    for (const metrics of [page(90, 1), page(75, undefined)]) {
      const { run, orders } = await atWorker(() => metrics);
      expect(run.verdict).toBe('confirmed');
      expect(orders[0]).toMatchObject({
        by: `${run.id} ana`,
        rules: [{ kind: 'latency', match: { upstream: 'news' } }],
      });
      expect(orders.at(-1)).toMatchObject({ rules: [] });
    }
  });

  it('runs with a low score when it is forced, and the ledger tells that it was', async () => {
    const { run, kept } = await atWorker(() => page(74, 0), true);
    expect(run.verdict).toBe('confirmed');
    expect(kept).toMatchObject([{ forced: true, verdict: 'confirmed' }]);
  });

  it('is broken off when the score falls too far: the faults go at once', async () => {
    let asked = 0;
    const { run, orders } = await atWorker(() => page(++asked > 3 ? 40 : 90, 1), false, 60_000);
    expect(run).toMatchObject({ verdict: 'aborted', why: 'score was 40, not at least 50' });
    expect(orders.at(-1)).toMatchObject({ rules: [] });
  });
});
