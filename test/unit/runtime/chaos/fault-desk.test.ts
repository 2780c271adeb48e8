import { rename, writeFile } from 'node:fs/promises';

import { firstValueFrom, of, toArray } from 'rxjs';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import type { Config } from '../../../../src/config/config.ts';
import { readScenario } from '../../../../src/config/scenario.ts';
import { noMetrics } from '../../../../src/ports/metrics.ts';
import { drill } from '../../../../src/runtime/chaos/drill.ts';
import { disturbing, faultDesk, Faults } from '../../../../src/runtime/chaos/fault-desk.ts';
import { samplesOn } from '../../../../src/runtime/chaos/metric-text.ts';
import { standingOf } from '../../../../src/runtime/chaos/standing.ts';
import { serve, type Served } from '../../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { noLogger } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
let served: Served;
let sandbox: Sandbox;
afterEach(async () => {
  await served.stop();
  await sandbox.close();
});
afterAll(() => files.remove());

/** A worker with an upstream `news` and one `weather`, both well, and what may be asked of it. */
async function started(chaos: string) {
  sandbox = await createSandbox();
  const upstream = `baseUrl: '${sandbox.url}/echo', retry: off, breaker: off`;
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
chaos: ${chaos}
upstreams: { news: { ${upstream}, fallback: { default: [] }, slo: { objective: 0.99 } }, weather: { ${upstream} } }
`);
  served = await serve(config, [], { worker: true, ingress: true });
  const admin = Number(new URL(served.adminUrl).port);
  const ingress = Number(new URL(served.ingressUrl ?? '').port);
  // Each asks something new, of which no answer is remembered.
  let asked = 0;
  return {
    config,
    /** How a call ends: `live`, `default`, or the reason of its dead letter. */
    call: async (upstream: string) => {
      const answer = await httpAsk(ingress, '/v1/calls?wait=3s', {
        method: 'POST',
        body: JSON.stringify({ upstream, path: `/x/${asked++}` }),
      });
      const { source, reason } = answer.json() as { source?: string; reason?: string };
      return source ?? reason;
    },
    order: (body: object) => httpAsk(admin, '/admin/faults', { method: 'PUT', body: JSON.stringify(body) }),
    shown: async () => (await httpAsk(admin, '/admin/faults')).json(),
    metrics: async () => (await httpAsk(admin, '/metrics')).text,
    audit: async () =>
      (await firstValueFrom(served.stores.tail('audit', 100).pipe(toArray()))).map(
        ({ value }) => JSON.parse(String(value)) as unknown,
      ),
  };
}

const sick = { kind: '503', match: { upstream: 'news' } } as const;

/** The faults of a process whose time goes on when it is told to. */
function inVirtualTime({ chaos }: Config) {
  const time = new VirtualTime();
  const parts = { clock: time, timers: time, random: seededRandom(1), log: noLogger, metrics: noMetrics };
  return { time, faults: new Faults(chaos, parts) };
}

describe('faults of a worker', () => {
  it('are switched while it works, hit only what their rule is for, are counted, and stand on audit', async () => {
    const { call, order, shown, metrics, audit } = await started('{ injectFaults: true }');
    expect(await call('news')).toBe('live');
    expect((await order({ rules: [sick], by: 'ana', reason: 'a drill' })).status).toBe(200);
    expect([await call('news'), await call('weather')]).toEqual(['default', 'live']);
    expect(await shown()).toMatchObject({ enabled: true, rules: [sick], counts: { 503: 1 }, orderedBy: 'ana' });
    expect(await metrics()).toContain('larkspur_faults_injected_total{upstream="news",kind="503"} 1');
    expect((await order({ rules: [], by: 'ana' })).status).toBe(200);
    expect(await call('news')).toBe('live');
    expect(await audit()).toMatchObject([
      { by: 'ana', what: 'faults', from: [], to: [sick], reason: 'a drill' },
      { by: 'ana', what: 'faults', from: [sick], to: [] },
    ]);
  });

  it('go by themselves when their time is over', async () => {
    const { time, faults } = inVirtualTime((await started('{ injectFaults: true }')).config);
    faults.order([sick], 'ana', 150);
    time.advance(149);
    expect(faults.show()).toMatchObject({ rules: [sick], orderedBy: 'ana' });
    time.advance(1);
    expect(faults.show()).toMatchObject({ rules: [], orderedBy: undefined });
  });

  it('tell callers to wait no longer than they hold themselves', async () => {
    const { faults } = inVirtualTime((await started('{ injectFaults: true }')).config);
    const order = [
      { kind: '429', resetSeconds: 3_600 },
      { kind: '503', retryAfterSeconds: 3_600 },
    ] as const;
    faults.order(order, 'ana', 60_000);
    expect(faults.show().rules).toEqual([
      { kind: '429', resetSeconds: 60 },
      { kind: '503', retryAfterSeconds: 60 },
    ]);
    faults.order(order.slice(0, 1), 'ana', 10);
    expect(faults.show().rules).toEqual([{ kind: '429', resetSeconds: 1 }]);
  });

  it('come no more when the process ends: calls that are drained are left alone', async () => {
    const { faults } = inVirtualTime((await started('{ injectFaults: true }')).config);
    faults.order([sick], 'ana', 60_000);
    await faults.stop();
    const desk = faultDesk(faults, { written: () => of(true) }, { log: noLogger });
    const order = { rules: [sick], by: 'ana', forMs: 60_000, reason: undefined, requestId: undefined };
    expect(await firstValueFrom(desk.order(order))).toMatchObject({ kind: 'off' });
    faults.order([sick], 'ana', 60_000);
    expect(faults.show()).toMatchObject({ enabled: false, rules: [] });
  });

  it('are refused with all mistakes, and then nothing changes', async () => {
    const { order, shown } = await started('{ injectFaults: true }');
    await order({ rules: [sick], by: 'ana' });
    const wrong = await order({ rules: [{ kind: 'slow' }, { kind: '503', acts: true, rate: 3 }], by: 'ana' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/rules\[0\]\.kind.*rules\[1\]\.rate/);
    expect((await order({ rules: 1, forMs: 0, extra: 1 })).text).toMatch(/\/forMs.*\/rules.*\/by.*\/extra/);
    expect((await order([])).text).toContain('the body must be a JSON object');
    expect(await shown()).toMatchObject({ rules: [sick] });
  });

  it('are off unless the configuration lets them be', async () => {
    const { call, order, shown } = await started('{}');
    expect((await order({ rules: [sick], by: 'ana' })).status).toBe(403);
    expect([await call('news'), await shown()]).toMatchObject(['live', { enabled: false, rules: [] }]);
  });

  it('S000-78: come from a mounted file, too, and are switched in less than 5 s when it is replaced', async () => {
    const file = files.write('rules: []', 'faults.yaml');
    const { call } = await started(`{ injectFaults: true, faultsFile: '${file}' }`);
    expect(await call('news')).toBe('live');
    await writeFile(`${file}.next`, 'rules: [{ kind: "503", match: { upstream: news } }]');
    await rename(`${file}.next`, file);
    await vi.waitFor(async () => expect(await call('news')).toBe('default'), { interval: 100, timeout: 5_000 });
  });
});

it('S000-73: a scenario at workers lets their own calls fail, and tells what came of it', async () => {
  const { config, call } = await started('{ injectFaults: true }');
  const ledger = files.write('', 'chaos.jsonl');
  const scenario = readScenario(
    `name: sick-news
hypothesis: readers of news get the declared answer
target: workers
blastRadius: { upstreams: [news] }
durationMs: 5000
# The machine of a test is as busy as it is; that there is a score is what counts.
guard: { minScore: 1 }
faults: [{ kind: '503' }]
expect:
  - { figure: faults, atLeast: 3 }
  - { figure: fallbackSuccess, atLeast: 1 }
  - { figure: outsideAnsweredShare, atLeast: 1 }
`,
    'scenario',
  );
  const drilling = { over: false };
  const calls = (async () => {
    const ended: (string | undefined)[] = [];
    for (; !drilling.over; await new Promise((resolve) => setTimeout(resolve, 20))) {
      ended.push(await call('news'));
      await call('weather');
    }
    return ended;
  })();
  const run = await drill(scenario, { config, urls: [served.adminUrl], force: false, ledger, seed: 1, by: 'ana' });
  drilling.over = true;

  expect([run.bars.filter(({ pass }) => !pass), run.verdict]).toEqual([[], 'confirmed']);
  expect(new Set(await calls)).toEqual(new Set(['live', 'default']));
  expect(await call('news')).toBe('live');
});

it('S000-86: a playbook disturbs by the same faults, and takes back only its own', async () => {
  const { faults } = inVirtualTime((await started('{ injectFaults: true }')).config);
  const disturb = disturbing(faults);

  const end = await disturb([sick], 60_000, 'playbook unsettled');
  expect(faults.show()).toMatchObject({ rules: [sick], orderedBy: 'playbook unsettled' });
  await end();
  expect(faults.show().rules).toEqual([]);

  const late = await disturb([sick], 60_000, 'playbook unsettled');
  faults.order([{ kind: '429' }], 'ana', 60_000);
  await late();
  expect(faults.show().rules).toEqual([{ kind: '429' }]);
  await expect(disturb([{ kind: 'slow' }], 60_000, 'playbook x')).rejects.toThrow(/rules\[0\]\.kind/);
});

it('S000-84: a worker tells its score and what is left of a budget as the guard reads them', async () => {
  const { call, metrics } = await started('{}');
  expect(await call('news')).toBe('live');
  await vi.waitFor(
    async () => {
      const { score, budgetLeft } = standingOf([samplesOn(await metrics())], ['news']);
      expect(score).toBeGreaterThan(0);
      expect(budgetLeft).toBe(1);
    },
    { timeout: 10_000, interval: 100 },
  );
  // Of weather nothing was promised.
  expect(standingOf([samplesOn(await metrics())], ['weather']).budgetLeft).toBeUndefined();
});
