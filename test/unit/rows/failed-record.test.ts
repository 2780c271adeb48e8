import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { send } from '../../support/calls.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { findBrowser, visit } from '../../support/headless.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { only } from '../../support/only.ts';

vi.setConfig({ testTimeout: 60_000 });

const browser = await findBrowser();
const missing = browser === undefined ? ' (skipped: no browser; Debian has one in the package chromium)' : '';
const soon = { timeout: 20_000, interval: 50 };

describe('a record that failed, and the person who steps in', () => {
  let sandbox: Sandbox;
  let served: Served;
  let ask: (path: string, body?: object) => ReturnType<typeof httpAsk>;
  beforeAll(async () => {
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const files = new ConfigFiles();
    const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
`);
    files.remove();
    served = await serve(config, [], { worker: true, ingress: false });
    const port = Number(new URL(served.adminUrl).port);
    ask = (path, body) => httpAsk(port, path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
    // The bot is not in the chat: nothing but a person can help.
    sandbox.setFaults([{ kind: 'code', code: 230_002, msg: 'bot not in chat' }]);
    const value = Buffer.from(JSON.stringify(send('m-1', 'oc_1')));
    await only(served.stores.sink.append({ topic: 'calls', key: null, value, headers: [] }));
  });
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('S000-37: is counted in the series that its alert looks at', async () => {
    const series = 'larkspur_records_ended_total{upstream="feishu",ending="dead-letter",reason="permanent"} 1';
    await vi.waitFor(async () => expect((await ask('/metrics')).text).toContain(series), soon);
  });

  it.skipIf(browser === undefined)(`S000-37: is on the page, by what it failed of${missing}`, async () => {
    const page = await visit(browser!, `${served.adminUrl}/?lang=en&dead-letters`, { width: 1_200, height: 1_400 });
    const [, body = ''] = /<table id="dead">(.*?)<\/table>/s.exec(page) ?? [];
    const cells = [...body.matchAll(/<td>([^<]*)<\/td>/g)].map(([, cell]) => cell);
    expect(cells.slice(0, 4)).toEqual(['permanent', 'feishu', '230002', '1']);
  });

  it('S000-37: ends with an answer once a person has put it right and sends it again', async () => {
    sandbox.setFaults([]);
    const order = { run: 'bot-was-added', rate: '100', who: 'li@ops', code: '230002' };
    expect((await ask('/admin/redrives', order)).status).toBe(202);
    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(1), soon);
    await vi.waitFor(
      async () =>
        expect((await ask('/admin/explain/m-1')).json()).toMatchObject({ where: 'ended', ended: { how: 'ok' } }),
      soon,
    );
  });
});
