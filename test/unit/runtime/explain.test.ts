import { firstValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { explanationText } from '../../../src/cli/explain.ts';
import type { Config } from '../../../src/config/config.ts';
import type { Result } from '../../../src/model/result.ts';
import { askExplain } from '../../../src/runtime/ask-explain.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { noLogger } from '../../support/silent.ts';

const message = (id: string | undefined, chat: string) => ({
  ...(id === undefined ? {} : { id }),
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: chat, msg_type: 'text', content: '{"text":"hi"}' },
});

/** A whole process with its admin port, asked as the command asks. */
describe('explain, over the admin port', () => {
  let sandbox: Sandbox;
  let served: Served;
  let config: Config;

  const produce = (value: object | string, key: string | null) => {
    const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    return only(
      served.stores.sink.append({
        topic: 'calls',
        key: key === null ? null : Buffer.from(key),
        value: bytes,
        headers: [],
      }),
    );
  };
  const ended = async (): Promise<number> => {
    const both = ['results', 'dead-letters'].map((topic) =>
      firstValueFrom(served.stores.reader.scan(topic).pipe(toArray())),
    );
    return (await Promise.all(both)).flat().length;
  };
  const ask = (ref: string) => askExplain(config, noLogger, [served.adminUrl], ref);

  beforeAll(async () => {
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const files = new ConfigFiles();
    ({ config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
`));
    served = await serve(config, [], { worker: true, ingress: false });
    files.remove();
  });
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('tells the story of a call that has ended, by its id, its origin and its place', async () => {
    await produce(message('m-1', 'oc_1'), 'k');
    const { partition, offset } = (await produce(message(undefined, 'oc_1'), 'k')) as {
      partition: number;
      offset: number;
    };
    await expect.poll(ended, { timeout: 10_000 }).toBe(2);
    const byId = await ask('m-1');
    expect(byId).toMatchObject({ where: 'ended', id: 'm-1', upstream: 'feishu', ended: { as: 'result', how: 'ok' } });
    expect(byId.attempts).toMatchObject([{ class: 'success' }]);
    const byPlace = await ask(`calls/${partition}/${offset}`);
    expect(byPlace).toMatchObject({ where: 'ended', at: `calls/${partition}/${offset}`, ended: { how: 'ok' } });
    expect((await ask(byPlace.id!)).ended).toEqual(byPlace.ended);
    const [result] = await firstValueFrom(served.stores.reader.scan('results').pipe(toArray()));
    const fromTopic = await ask(`results/${result!.partition}/${result!.offset}`);
    expect(fromTopic.id).toBe((JSON.parse(String(result!.value)) as Result).id);
    expect(fromTopic.steps.at(-1)?.what).toContain('result written to results/');
  });

  it('says why a call ended as a dead letter, and what to do, also for one that was no call', async () => {
    const before = await ended();
    const msg = 'Access denied. One of the following scopes is required: [im:message]';
    sandbox.setFaults([{ kind: 'code', code: 99_991_672, msg, rate: 1, match: { path: '/open-apis/im/v1/messages' } }]);
    await produce(message('m-2', 'oc_1'), 'k');
    const { partition, offset } = (await produce('no json', 'k')) as { partition: number; offset: number };
    await expect.poll(ended, { timeout: 10_000 }).toBe(before + 2);
    sandbox.setFaults([]);
    const scope = await ask('m-2');
    expect(scope).toMatchObject({ where: 'ended', ended: { as: 'dead-letter', how: 'permanent' } });
    expect(scope.summary).toContain('99991672');
    const poison = await ask(`calls/${partition}/${offset}`);
    expect(poison.ended).toMatchObject({ how: 'undecodable', at: expect.stringMatching(/^dead-letters\//) as string });
    expect((await ask(poison.ended!.at!)).ended?.cure).toContain('what produces to this topic');
  });

  it('shows a call that hangs now, and people can read it', async () => {
    sandbox.setFaults([{ kind: 'timeout', rate: 1, match: { path: '/open-apis/im/v1/messages' } }]);
    await produce(message('m-3', 'oc_3'), 'k3');
    await expect.poll(async () => (await ask('m-3')).waits[0]?.what, { timeout: 5_000 }).toBe('answer');
    const text = explanationText(await ask('m-3'));
    sandbox.setFaults([]);
    expect(text).toContain('waits for answer (feishu), since ');
    expect(text).toContain('next      attempt 1 of 20');
  });

  it('finds a call that waits in a delay topic, outside of all workers, and tells until when', async () => {
    const path = '/open-apis/im/v1/messages';
    sandbox.setFaults([{ kind: '429', resetSeconds: 300, rate: 1, match: { path } }]);
    await produce(message('m-4', 'oc_4'), null);
    await expect.poll(async () => (await ask('m-4')).waits[0]?.what, { timeout: 10_000 }).toBe('delay');
    const told = await ask('m-4');
    sandbox.setFaults([]);
    expect(told.waits[0]).toMatchObject({ on: expect.stringMatching(/^retry\.1m\//) as string });
    const untilMs = Date.parse(told.waits[0]?.until ?? '');
    expect(untilMs - Date.now()).toBeGreaterThan(250_000);
    expect(told.attempts).toMatchObject([{ class: 'rate-limited', status: 429 }]);
  });

  it('says that nothing is known, and why there can be no such record', async () => {
    expect(await ask('never-heard-of')).toMatchObject({ where: 'unknown' });
    expect((await ask('calls/0/999999')).summary).toContain('no such record has been written');
    expect((await ask('calls/99/0')).summary).toContain('has no partition 99');
    await expect(ask('no-such-topic/0/0')).rejects.toMatchObject({ code: 'topic_missing' });
    const byPath = await fetch(`${served.adminUrl}/admin/explain/calls/0/999999`);
    expect(await byPath.json()).toMatchObject({ ref: 'calls/0/999999', where: 'unknown' });
  });
});
