import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, it, vi } from 'vitest';

import { describe as described } from '../../../src/config/describe.ts';
import type { Overlay } from '../../../src/config/overlay.ts';
import type { AuditEntry } from '../../../src/model/audit.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';

const soon = { timeout: 40_000, interval: 50 };
vi.setConfig({ testTimeout: 120_000 });

let served: Served | undefined;
let upstream: Server | undefined;
let sandbox: Sandbox | undefined;
afterEach(async () => {
  await served?.stop();
  upstream?.close();
  await sandbox?.close();
});

/** A process with an upstream that can be made to fail, a playbook that watches it, and a group whose bot it tells. */
async function started() {
  const state = { status: 200 };
  upstream = createServer((_, response) => {
    response.statusCode = state.status;
    response.end('{}');
  });
  await new Promise<void>((listening) => upstream?.listen(0, '127.0.0.1', listening));
  const { port } = upstream.address() as AddressInfo;
  sandbox = await createSandbox();
  const files = new ConfigFiles();
  const playbook = files.write(
    `
name: news-sick
when: { metric: larkspur_health_score, where: { upstream: news }, below: 75, forMs: 1000, clear: 90, clearForMs: 2000 }
coolDownMs: 60000
then:
  - config: { upstreams.news.concurrency: 2, upstreams.news.retry.maxAttempts: 3 }
  - alert:
      feishu: { webhook: '${sandbox.url}/open-apis/bot/v2/hook/on-call' }
      text: 'news is at {value}'
      link: https://runbook.internal/news
`,
    'news.yaml',
  );
  const file = files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  news: { baseUrl: 'http://127.0.0.1:${port}', concurrency: 16, slo: { objective: 0.99 } }
playbooks: ['${playbook}']
`);
  const loaded = (overlays: readonly Overlay[] = []) => files.loadFile(file, overlays);
  served = await serve(
    loaded().config,
    [],
    { worker: true, ingress: true },
    {
      file,
      load: (overlays) => loaded(overlays).config,
      describe: (overlays) => described(loaded(overlays)),
    },
  );
  const admin = Number(new URL(served.adminUrl).port);
  const ingress = Number(new URL(served.ingressUrl ?? '').port);
  const call = (path: string) =>
    httpAsk(ingress, '/v1/calls', { method: 'POST', body: JSON.stringify({ upstream: 'news', path, ttlMs: 60_000 }) });
  const ask = async <T>(path: string): Promise<T> => JSON.parse((await httpAsk(admin, path)).text) as T;
  return { state, call, ask, file, files };
}

it('S000-91: a playbook meets an outage within 10 s, changes what is in force without a restart, takes it back, and audit tells', async () => {
  const { state, call, ask } = await started();
  const inForce = async (path: string) => {
    const { values } = await ask<{ values: { path: string; value: string; source: string }[] }>('/admin/config');
    return values.find((line) => line.path === path);
  };
  const entries = async () => (await ask<{ entries: AuditEntry[] }>('/admin/audit')).entries;
  const steady = setInterval(() => void call(`/a/${Math.round(performance.now())}`), 40);
  try {
    await vi.waitFor(async () => {
      const { upstreams } = await ask<{ upstreams: { upstream: string; reading: { attempts: number } }[] }>(
        '/admin/health-score',
      );
      expect(upstreams.find((one) => one.upstream === 'news')?.reading.attempts).toBeGreaterThan(10);
    }, soon);
    expect(await inForce('upstreams.news.concurrency')).toMatchObject({ value: '16' });
    const house = served!.worker!.house;
    expect(house.destinations.get('news')?.width.limit).toBe(16);

    state.status = 503;
    const brokenAtMs = performance.now();
    await vi.waitFor(async () => expect(await entries()).toHaveLength(1), soon);
    const reactedMs = performance.now() - brokenAtMs;
    expect(reactedMs).toBeLessThan(10_000);
    expect(await inForce('upstreams.news.concurrency')).toMatchObject({ value: '2', source: 'playbook news-sick' });
    expect(house.destinations.get('news')?.width.limit).toBe(2);
    const posts = sandbox!.bots.posts();
    expect(posts).toHaveLength(1);
    expect(JSON.stringify(posts)).toMatch(/news is at \d+.*https:\/\/runbook\.internal\/news/);

    state.status = 200;
    await vi.waitFor(async () => expect(await entries()).toHaveLength(2), { timeout: 100_000, interval: 200 });
    expect(await inForce('upstreams.news.concurrency')).toMatchObject({ value: '16' });
    expect((await inForce('upstreams.news.concurrency'))?.source).toMatch(/larkspur\.yaml:\d+$/);
    expect(house.destinations.get('news')?.width.limit).toBe(16);
    expect(await entries()).toMatchObject([
      {
        ...{ by: 'playbook news-sick', what: 'playbook/news-sick', from: 'idle' },
        reason: 'larkspur_health_score {upstream=news} < 75 for 1 s',
        to: { state: 'ran', dryRun: false, steps: [{ outcome: 'done' }, { outcome: 'done' }] },
      },
      { from: 'ran', to: { state: 'over', steps: [{ outcome: 'undone' }] } },
    ]);
    const { happenings } = await ask<{ happenings: { what: string; says: string }[] }>('/admin/happenings');
    expect(happenings.map(({ says }) => says).join('\n')).toMatch(
      /breaker .*: closed -> open[^]*health score: .* below/,
    );
  } finally {
    clearInterval(steady);
  }
});

it('S000-96: a change of the file stands on audit with what it was and what it is since', async () => {
  const { ask, file, files } = await started();
  const text = readFileSync(file, 'utf8');
  files.write(text.replace('concurrency: 16', 'concurrency: 12'));
  await vi.waitFor(async () => {
    const { entries } = await ask<{ entries: AuditEntry[] }>('/admin/audit');
    expect(entries).toMatchObject([
      {
        ...{ by: `file ${file}`, what: 'config' },
        from: { 'upstreams.news.concurrency': '16' },
        to: { 'upstreams.news.concurrency': '12' },
      },
    ]);
  }, soon);
});
