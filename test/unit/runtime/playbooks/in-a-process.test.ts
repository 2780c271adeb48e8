import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { toArray } from 'rxjs';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Overlay } from '../../../../src/config/overlay.ts';
import { serve, type Served } from '../../../../src/runtime/serve.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { only } from '../../../support/only.ts';

const files = new ConfigFiles();
let served: Served | undefined;
afterEach(async () => {
  await served?.stop();
  served = undefined;
});
afterAll(() => files.remove());

const soon = { timeout: 10_000, interval: 20 };

/** A worker with one playbook. @param newsUrl of its upstream `news` */
async function started(playbook: string, newsUrl = 'http://127.0.0.1:1'): Promise<Served> {
  const file = files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
playbooks: ['${files.write(playbook, 'play.yaml')}']
upstreams: { news: { baseUrl: '${newsUrl}', concurrency: 8, concurrencyFloor: 2 } }
`);
  const load = (overlays: readonly Overlay[] = []) => files.loadFile(file, overlays).config;
  return (served = await serve(load(), [], { worker: true, ingress: true }, { file, load }));
}

const atOnce = 'when: { metric: larkspur_health_score_overall, above: -1 }';

it('what a playbook puts over the configuration at the first look is in force', async () => {
  const { adminUrl, worker } = await started(
    `name: narrow\n${atOnce}\nthen: [{ config: { upstreams.news.concurrency: 2 } }]\n`,
  );
  const admin = Number(new URL(adminUrl).port);
  await vi.waitFor(
    async () => expect((await httpAsk(admin, '/admin/playbooks')).text).toContain('"outcome":"done"'),
    soon,
  );
  expect(worker?.house.destinations.get('news')?.slots.limit).toBe(2);
});

/** Asks the admin port of the process for a change, in JSON. */
const order = async (method: string, path: string, body: object) => {
  const admin = Number(new URL(served?.adminUrl ?? '').port);
  const { status, json } = await httpAsk(admin, path, { method, body: JSON.stringify(body) });
  return [status, json()] as const;
};
/** Who asked for what, in the order of the topic `audit`. */
const audited = async (): Promise<unknown[]> => {
  const records = await only(served!.stores.tail('audit', 100).pipe(toArray()));
  return records.map(({ value }) => JSON.parse(String(value)) as unknown);
};

describe('what a person orders over HTTP', () => {
  it('POST /admin/playbooks/{name} rehearses a playbook, which changes nothing, and ends one that is active, which undoes it', async () => {
    const { adminUrl, worker } = await started(
      `name: narrow\n${atOnce}\nthen: [{ config: { upstreams.news.concurrency: 2 } }]\n`,
    );
    const limit = () => worker?.house.destinations.get('news')?.slots.limit;
    const active = async () => {
      const { text } = await httpAsk(Number(new URL(adminUrl).port), '/metrics');
      return /^larkspur_playbook_active\{playbook="narrow"\} (\d)$/m.exec(text)?.[1];
    };
    await vi.waitFor(() => expect(limit()).toBe(2), soon);
    expect(await active()).toBe('1');

    expect(await order('POST', '/admin/playbooks/narrow', { do: 'end', by: 'ana', reason: 'enough' })).toMatchObject([
      200,
      { state: 'over', steps: [{ outcome: 'undone' }] },
    ]);
    expect([limit(), await active()]).toEqual([8, '0']);
    expect(await order('POST', '/admin/playbooks/narrow', { do: 'rehearse', by: 'ana' })).toMatchObject([
      200,
      { dryRun: true, steps: [{ outcome: 'dry-run' }] },
    ]);
    expect(limit()).toBe(8);
    expect(await audited()).toMatchObject([
      { what: 'playbook/narrow', by: 'playbook narrow' },
      { what: 'playbook/narrow', by: 'ana', reason: 'enough' },
      { what: 'playbook/narrow', by: 'ana', to: { dryRun: true } },
    ]);

    expect(await order('POST', '/admin/playbooks/none', { do: 'end', by: 'ana' })).toMatchObject([
      404,
      { code: 'not_found' },
    ]);
    expect(await order('POST', '/admin/playbooks/narrow', { do: 'dance', loud: 1 })).toMatchObject([
      400,
      { faults: [{ at: '/do' }, { at: '/by' }, { at: '/loud' }] },
    ]);
    expect(await audited()).toHaveLength(3);
  });

  it('PUT /admin/pauses/{upstream} lets no call to it begin until it is taken back', async () => {
    const sandbox = await createSandbox();
    onTestFinished(() => sandbox.close());
    const { ingressUrl } = await started(
      `name: never\nwhen: { metric: larkspur_health_score_overall, above: 100 }\nthen: [{ config: { upstreams.news.concurrency: 2 } }]\n`,
      `${sandbox.url}/echo`,
    );
    const pause = (upstream: string, body: object) => order('PUT', `/admin/pauses/${upstream}`, body);
    expect(await pause('news', { paused: true, by: 'ana', reason: 'it moves' })).toEqual([
      200,
      { upstream: 'news', paused: true, audited: true },
    ]);
    const call = (wait: string) =>
      httpAsk(Number(new URL(ingressUrl ?? '').port), `/v1/calls?wait=${wait}`, {
        method: 'POST',
        body: JSON.stringify({ id: 'held', upstream: 'news', path: '/x' }),
      });
    expect((await call('200ms')).status).toBe(504);
    expect(sandbox.requests()).toEqual([]);

    expect(await pause('news', { paused: false, by: 'bob' })).toMatchObject([200, { paused: false }]);
    expect((await call('10s')).status).toBe(200);
    expect(sandbox.requests()).toHaveLength(1);
    expect(await audited()).toMatchObject([
      { what: 'pause/news', by: 'ana', reason: 'it moves' },
      { what: 'pause/news', by: 'bob' },
    ]);

    expect(await pause('none', { paused: true, by: 'ana' })).toMatchObject([404, { code: 'not_found' }]);
    expect(await pause('news', { paused: 'yes', by: '' })).toMatchObject([
      400,
      { faults: [{ at: '/paused' }, { at: '/by' }] },
    ]);
  });
});

it('a process that stops lets a playbook under way end', async () => {
  const asked: ServerResponse[] = [];
  const receiver = createServer((_request, response) => void asked.push(response));
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const { port } = receiver.address() as AddressInfo;
  const running = await started(
    `name: tell\n${atOnce}\nthen: [{ alert: { http: { webhook: 'http://127.0.0.1:${port}' }, text: hi } }]\n`,
  );
  await vi.waitFor(() => expect(asked).toHaveLength(1), soon);
  const stopping = running.stop().then(() => 'stopped');
  served = undefined;
  expect(await Promise.race([stopping, sleep(100, 'waits')])).toBe('waits');
  asked[0]?.end();
  expect(await stopping).toBe('stopped');
  receiver.close();
});
