import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, expect, it, vi } from 'vitest';

import type { Overlay } from '../../../../src/config/overlay.ts';
import { serve, type Served } from '../../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { httpAsk } from '../../../support/http-ask.ts';

const files = new ConfigFiles();
let served: Served | undefined;
afterEach(async () => {
  await served?.stop();
  served = undefined;
});
afterAll(() => files.remove());

const soon = { timeout: 10_000, interval: 20 };

/** A worker with one playbook. */
async function started(playbook: string): Promise<Served> {
  const file = files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
playbooks: ['${files.write(playbook, 'play.yaml')}']
upstreams: { news: { baseUrl: 'http://127.0.0.1:1', concurrency: 8, concurrencyFloor: 2 } }
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

it('a process that stops lets a playbook under way end', async () => {
  const told = { asked: 0, answered: 0 };
  const receiver = createServer((_request, response) => {
    told.asked++;
    setTimeout(() => {
      told.answered++;
      response.end();
    }, 500);
  });
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const { port } = receiver.address() as AddressInfo;
  const running = await started(
    `name: tell\n${atOnce}\nthen: [{ alert: { http: { webhook: 'http://127.0.0.1:${port}' }, text: hi } }]\n`,
  );
  await vi.waitFor(() => expect(told.asked).toBe(1), soon);
  await running.stop();
  served = undefined;
  expect(told.answered).toBe(1);
  receiver.close();
});
