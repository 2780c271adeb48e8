import { toArray } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';

import type { Event } from '../../../src/model/event.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { seal } from '../../../src/sandbox/events/seal.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';

const waiting = { timeout: 20_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const running: Served[] = [];
let sandbox: Sandbox;
afterEach(async () => {
  await Promise.all(running.splice(0).map((served) => served.stop()));
  await sandbox.close();
});

async function open(more = '', secret = 's'): Promise<Served> {
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: ${secret}, longConnection: true, encryptKey: k1 }]
upstreams: { feishu: { profile: feishu, baseUrl: '${sandbox.url}' } }
${more}`);
  files.remove();
  const served = await serve(config, [], { worker: false, ingress: true });
  running.push(served);
  return served;
}

const eventsOf = async ({ stores }: Served) => {
  const records = await only(stores.tail('events', 10_000).pipe(toArray()));
  return records.map(({ value }) => JSON.parse(String(value)) as Event);
};
const readyz = async ({ adminUrl }: Served) => (await fetch(`${adminUrl}/readyz`)).status;
const connected = (count: number) => vi.waitFor(() => expect(sandbox.links.connected('cli_a')).toBe(count), waiting);
const linked = { urls: [], app: 'cli_a', over: 'long-connection' } as const;

describe('the long connection of a process to the sandbox', () => {
  it('brings each event of both schemas once, in the order of its chat, with a third delivered twice and some in parts', async () => {
    sandbox = await createSandbox();
    sandbox.links.setFaults({ partBytes: 200 });
    const served = await open();
    await connected(1);
    const plan = { events: 300, chats: 20, duplicates: 0.33, schema: 'both' } as const;
    const report = await sandbox.sendEvents({ target: linked, ...plan });

    expect(report).toMatchObject({ taken: 300, byStatus: { 200: 300 + report.duplicates } });
    const arrived: Record<string, string[]> = {};
    for (const { id, via, body } of await eventsOf(served)) {
      expect(via).toBe('long-connection');
      const { message, instance_code: instance } = body['event'] as {
        message?: { chat_id: string };
        instance_code?: string;
      };
      (arrived[message?.chat_id ?? instance ?? ''] ??= []).push(id);
    }
    expect(arrived).toEqual(report.ids);
  });

  it('and the webhook together bring an event once', async () => {
    sandbox = await createSandbox({ seed: 5 });
    const served = await open();
    await connected(1);
    const body = {
      schema: '2.0',
      header: { event_id: 'ev-1', event_type: 'im.chat.updated_v1', app_id: 'cli_a', create_time: String(Date.now()) },
      event: { chat_id: 'oc_1' },
    };
    const sealed = seal({ urls: [], app: 'cli_a', encryptKey: 'k1' }, body, Date.now(), { next: () => 0.5 });
    const [overHttp, overLink] = await Promise.all([
      fetch(`${served.ingressUrl}/feishu/cli_a/events`, { method: 'POST', ...sealed }),
      sandbox.links.deliver('cli_a', body, 3_000),
    ]);
    expect([overHttp.status, overLink]).toEqual([200, { code: 200, data: '{}' }]);
    expect((await eventsOf(served)).map(({ id }) => id)).toEqual(['ev-1']);
  });

  it('F7: of several processes one gets an event, and all of them together get all', async () => {
    sandbox = await createSandbox();
    const processes = [await open(), await open()];
    await connected(2);
    const report = await sandbox.sendEvents({ target: linked, events: 20, chats: 20 });
    const counts = await Promise.all(processes.map(async (served) => (await eventsOf(served)).length));
    expect(report.taken).toBe(20);
    expect(counts[0]! + counts[1]!).toBe(20);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  it('answers a press on a button', async () => {
    sandbox = await createSandbox();
    await open(`routes: [{ on: card.action.trigger, answer: '{ "toast": { "content": event.action.value.word } }' }]`);
    await connected(1);
    const pressed = await sandbox.pressButton(linked, 'oc_1', { word: 'yes' });
    expect([pressed.status, JSON.parse(pressed.body)]).toEqual([200, { toast: { content: 'yes' } }]);
  });

  it('F28: comes back by itself when it breaks, and events wait for it', async () => {
    sandbox = await createSandbox();
    const served = await open();
    await connected(1);
    sandbox.links.drop();
    await connected(0);
    const report = await sandbox.sendEvents({ target: linked, events: 10, chats: 10, timeScale: 0.2 });
    expect(report).toMatchObject({ taken: 10, givenUp: 0 });
    expect(await eventsOf(served)).toHaveLength(10);
  });

  it('F28 (c), F29: while none is to be had the process is not ready, and the others keep theirs', async () => {
    sandbox = await createSandbox();
    const first = await open();
    await connected(1);
    await vi.waitFor(async () => expect(await readyz(first)).toBe(200), waiting);
    sandbox.links.setFaults({ most: 1 });
    const second = await open();
    expect(await readyz(second)).toBe(503);
    expect(await (await fetch(`${second.adminUrl}/readyz`)).text()).toContain('long connection of cli_a');
    expect([await readyz(first), sandbox.links.connected('cli_a')]).toEqual([200, 1]);
  });
});
