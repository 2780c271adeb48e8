import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { AuditEntry } from '../../../../src/model/audit.ts';
import { deadLetterHeaders } from '../../../../src/model/dead-letter.ts';
import { readFilter } from '../../../../src/model/dead-letters/filter.ts';
import { headerText } from '../../../../src/model/record.ts';
import type { Result } from '../../../../src/model/result.ts';
import { RemoteDesk } from '../../../../src/runtime/dead-letters/remote.ts';
import { serve, type Served } from '../../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { only } from '../../../support/only.ts';

const { filter: all } = readFilter({});
const message = (chat: string) => ({
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: chat, msg_type: 'text', content: '{"text":"hi"}' },
});
const notInChat = {
  kind: 'code',
  code: 230_002,
  msg: 'Bot is not in the chat',
  rate: 1,
  match: { path: '/open-apis/im/v1/messages' },
};
// The sandbox knows no such API: an upstream that refuses for good.
const refused = { path: '/open-apis/nowhere/v1/things', body: {} };

/** A whole process with the embedded store and its admin port, and the sandbox as Feishu. */
describe('the desk for dead letters, over the admin port', () => {
  let sandbox: Sandbox;
  let served: Served;
  let desk: RemoteDesk;

  const produce = (topic: string, value: object, key: string) =>
    only(
      served.stores.sink.append({
        topic,
        key: Buffer.from(key),
        value: Buffer.from(JSON.stringify(value)),
        headers: [],
      }),
    );
  const records = async (topic: string) => {
    const found = await firstValueFrom(served.stores.reader.scan(topic).pipe(toArray()));
    return found.sort((a, b) => a.timestampMs - b.timestampMs);
  };
  const results = async () => (await records('results')).map(({ value }) => JSON.parse(String(value)) as Result);
  const ended = (count: number) =>
    expect
      .poll(async () => (await records('results')).length + (await records('dead-letters')).length, { timeout: 15_000 })
      .toBe(count);

  beforeAll(async () => {
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const files = new ConfigFiles();
    const yaml = `
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams:
  feishu: { baseUrl: '${sandbox.url}' }
`;
    served = await serve(files.load(yaml).config, [], { worker: true, ingress: false });
    files.remove();
    desk = new RemoteDesk({ url: served.adminUrl, token: undefined });
  });
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('S000-37: what failed is listed, explained and sent again once the cause is gone', async () => {
    sandbox.setFaults([notInChat]);
    for (let n = 0; n < 10; n++) await produce('calls', message(`oc_${n % 2}`), `chat-${n % 2}`);
    await produce('calls', refused, 'x');
    await produce('calls', { path: 'nowhere' }, 'x');
    await ended(12);

    const list = await only(desk.list({ filter: all, by: ['reason', 'upstream', 'code'], records: 3 }));
    expect(list).toMatchObject({ looked: 12, matched: 12 });
    expect(list.groups.map(({ values, count }) => [...values, count])).toEqual([
      ['permanent', 'feishu', '230002', 10],
      expect.arrayContaining(['permanent', 'feishu', 1]),
      ['invalid_call', 'feishu', '', 1],
    ]);
    expect(list.records).toHaveLength(3);

    const detail = await only(desk.show(list.groups[0]!.newest));
    expect(detail).toMatchObject({ reason: 'permanent', call: 'dead', round: 0 });
    expect(detail.cause).toBe('The bot is not in that chat.');
    expect(detail.cure).toContain('redrive');
    expect(await only(desk.show(detail.id!))).toEqual(detail);

    const { filter } = readFilter({ code: '230002' });
    expect(await only(desk.preview(filter, 100))).toMatchObject({ looked: 12, wouldSend: 10, passedOver: {} });

    sandbox.setFaults([]);
    const order = { run: 'bot-added', filter, perSecond: 200, who: 'li@ops' };
    const done = await lastValueFrom(desk.redrive(order));
    expect(done).toMatchObject({ kind: 'redrive', state: 'finished', counts: { sent: 10 }, left: 0 });
    await ended(22);
    expect((await results()).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'ok'));
    expect(sandbox.effects().effects).toBe(10);
    expect(await only(desk.show(detail.id!))).toMatchObject({ call: 'processed' });
  });

  it('acts once however often the same dead letters are sent', async () => {
    const { filter } = readFilter({ code: '230002' });
    for (const run of ['again-1', 'again-2']) {
      const done = await lastValueFrom(desk.redrive({ run, filter, perSecond: 1_000, who: 'li@ops' }));
      expect(done).toMatchObject({ state: 'finished', counts: { sent: 10 } });
    }
    await ended(42);
    expect((await results()).slice(10).every(({ status }) => status === 'duplicate')).toBe(true);
    expect(sandbox.effects().effects).toBe(10);
  });

  it('does nothing when a run that has finished is ordered again', async () => {
    const { filter, ...rest } = await only(desk.ordered('bot-added'));
    const done = await lastValueFrom(desk.redrive({ filter, ...rest, who: 'li@ops' }));
    expect(done).toMatchObject({ state: 'finished', counts: {}, left: 0 });
    expect(sandbox.effects().effects).toBe(10);
  });

  it('refuses another filter under the name of a run, and says what to do', async () => {
    const order = { run: 'again-1', filter: all, perSecond: 10, who: 'li@ops' };
    expect(await lastValueFrom(desk.redrive(order))).toMatchObject({ state: 'failed' });
  });

  it('writes down who did what, with what came of it', async () => {
    const entries = (await records('audit')).map(({ value }) => JSON.parse(String(value)) as AuditEntry);
    const own = entries.filter(({ what }) => what === 'redrive/bot-added');
    expect(own.map(({ by, to }) => [(to as { state: string }).state, by])).toEqual([
      ['running', 'li@ops'],
      ['finished', 'li@ops'],
      ['running', 'li@ops'],
      ['finished', 'li@ops'],
    ]);
    expect(own[1]?.to).toMatchObject({ counts: { sent: 10 }, perSecond: 200 });
  });

  it('undoes what no worker has begun: it comes back as the dead letter that it was', async () => {
    sandbox.setFaults([notInChat]);
    const before = (await records('dead-letters')).length;
    const total = before + (await results()).length;
    for (let n = 0; n < 8; n++) await produce('calls', message('oc_9'), 'undo');
    await ended(total + 8);
    sandbox.setFaults([]);
    // One key, one at a time, each for a second: most of them still wait when the undoing comes.
    sandbox.configure({ latencyMs: 600 });
    const { filter } = readFilter({ key: 'undo' });
    await lastValueFrom(desk.redrive({ run: 'too-hasty', filter, perSecond: 1_000, who: 'li@ops' }));
    const undone = await lastValueFrom(desk.undo('too-hasty', 'li@ops'));
    expect(undone.state).toBe('finished');
    const { undone: back = 0, underWay = 0, done = 0 } = undone.counts;
    expect(back + underWay + done).toBe(8);
    expect(back).toBeGreaterThanOrEqual(4);
    await ended(total + 16);
    sandbox.configure({ latencyMs: 0 });
    expect(sandbox.effects().effects).toBe(10 + 8 - back);
    const last = (await records('dead-letters')).slice(before + 8);
    expect(last).toHaveLength(back);
    for (const { headers } of last) expect(headerText(headers, deadLetterHeaders.reason)).toBe('permanent');
    // They can be sent again after that.
    await lastValueFrom(desk.redrive({ run: 'this-time', filter, perSecond: 1_000, who: 'li@ops' }));
    await expect.poll(() => sandbox.effects().effects, { timeout: 15_000 }).toBe(18);
  });

  it('names every mistake in a question', async () => {
    const url = `${served.adminUrl}/admin/dead-letters?by=colour&records=-1&from=yesterday`;
    const answer = (await (await fetch(url)).json()) as { status: number; faults: { at: string }[] };
    expect(answer.status).toBe(400);
    expect(answer.faults.map(({ at }) => at).sort()).toEqual(['by', 'from', 'records']);
    const unnamed = await fetch(`${served.adminUrl}/admin/redrives`, { method: 'POST', body: '{"rate":0}' });
    expect(await unnamed.json()).toMatchObject({ status: 400, faults: [{ at: 'rate' }, { at: 'run' }] });
    // A misspelt word would otherwise choose all of them.
    for (const [words, at] of [
      [{ run: 'x', upsteam: 'feishu' }, 'upsteam'],
      [{ run: 'x', reason: ['permanent'] }, ''],
    ] as const) {
      const misspelt = await fetch(`${served.adminUrl}/admin/redrives`, {
        method: 'POST',
        body: JSON.stringify(words),
      });
      expect(await misspelt.json()).toMatchObject({ status: 400, faults: [{ at }] });
    }
    const looked = await fetch(`${served.adminUrl}/admin/redrives/preview?upsteam=feishu`);
    expect(await looked.json()).toMatchObject({ status: 400, faults: [{ at: 'upsteam' }] });
    await expect(only(desk.show('dead-letters/0/999999'))).rejects.toMatchObject({ code: 'not_found' });
  });
});
