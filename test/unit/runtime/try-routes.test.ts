import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { tryRoutes } from '../../../src/runtime/try-routes.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-try-'));
afterAll(() => rmSync(folder, { recursive: true }));
const module = join(folder, 'bot.mjs');
writeFileSync(
  module,
  `export default async (event, ctx) => { ctx.call({ path: '/echo/bot', body: { type: event.type } }); return { toast: {} }; };`,
);

const header = { event_id: 'ev1', create_time: '1767225600123', app_id: 'cli_a', tenant_key: 'tk' };
const message = {
  schema: '2.0',
  header: { ...header, event_type: 'im.message.receive_v1' },
  event: { message: { message_id: 'om_1', chat_id: 'oc_1', content: '{"text":"hi"}' } },
};
const card = {
  schema: '2.0',
  header: { ...header, event_type: 'card.action.trigger' },
  event: { operator: { open_id: 'ou_1' }, token: 'c-1', action: {}, context: { open_chat_id: 'oc_1' } },
};
const leave = {
  uuid: 'ev-uuid-1',
  ts: '1767225600.12',
  type: 'event_callback',
  event: { type: 'leave_approval', app_id: 'cli_a', tenant_key: 'tk', instance_code: 'I-1' },
};

function tried(routes: string, event: unknown, app?: string) {
  const files = new ConfigFiles();
  const { config } = files.load(`apps: [{ id: cli_a, secret: s }]\nroutes:\n${routes}`);
  files.remove();
  return tryRoutes(config, typeof event === 'string' ? event : JSON.stringify(event), app);
}

describe('what routes would do with an event', () => {
  it('names the event, its key, and per route the calls with their ids, of which none is sent', async () => {
    const { event, key, routes } = await tried(
      `
  - { on: im.message.*, name: echo, call: '{"path": "/echo", "body": {"text": event.message.content}}' }
  - { on: im.message.*, name: other, when: 'event.message.chat_id = "oc_2"', topic: audit }
  - { on: im.message.*, name: copy, topic: audit }
  - { on: approval.*, name: unfit, topic: audit }
  - { on: '*', name: bot, handler: '${module}' }
  - { on: '*', name: hook, http: 'http://127.0.0.1:9/hook' }`,
      message,
    );

    expect([event, key]).toEqual([{ id: 'om_1', type: 'im.message.receive_v1', app: 'cli_a' }, 'oc_1']);
    expect(routes.map(({ route, outcome }) => [route, outcome]).sort()).toEqual([
      ['bot', 'called'],
      ['copy', 'called'],
      ['echo', 'called'],
      ['hook', 'called'],
      ['other', 'differs'],
    ]);
    const made = Object.fromEntries(routes.map((one) => [one.route, one.made]));
    expect(made['echo']).toEqual([
      { id: 'echo/cli_a/om_1', path: '/echo', body: { text: '{"text":"hi"}' }, app: 'cli_a' },
    ]);
    expect(made['bot']).toMatchObject([{ id: 'bot/cli_a/om_1', body: { type: 'im.message.receive_v1' } }]);
    expect(made['copy']).toEqual([{ topic: 'audit' }]);
    expect(made['hook']).toMatchObject([{ upstream: 'hook-127-0-0-1-9', path: '/hook', body: { id: 'om_1' } }]);
  });

  it('shows the answer to a callback, and the calls of its handler', async () => {
    const { routes } = await tried(
      `  - { on: card.*, name: bot, handler: '${module}' }\n  - { on: card.*, name: say, answer: '{ "toast": { "content": event.operator.open_id } }' }`,
      card,
    );

    expect(routes).toMatchObject([
      { route: 'bot', outcome: 'answered', made: [{ answer: { toast: {} } }, { path: '/echo/bot' }] },
      { route: 'say', outcome: 'not-asked', made: [] },
    ]);
    const said = await tried(`  - { on: card.*, answer: '{ "toast": { "content": event.operator.open_id } }' }`, card);
    expect(said.routes).toMatchObject([{ outcome: 'answered', made: [{ answer: { toast: { content: 'ou_1' } } }] }]);
  });

  it('takes the record of a topic, and a body of schema 1.0, whose key is what it is about', async () => {
    const record = {
      id: 'om_1',
      type: 'im.message.receive_v1',
      app: 'cli_b',
      body: { ...message, header: { ...message.header, app_id: undefined } },
    };
    const ofRecord = await tried(`  - { on: '*', name: copy, topic: audit }`, record);
    const ofOld = await tried(`  - { on: leave_approval, name: copy, topic: audit }`, leave);

    expect([ofRecord.event.app, ofRecord.routes.length]).toEqual(['cli_b', 1]);
    expect([ofOld.event.id, ofOld.key, ofOld.routes[0]?.outcome]).toEqual(['ev-uuid-1', 'I-1', 'called']);
  });

  it('says why a route would fail', async () => {
    const { routes } = await tried(
      `
  - { on: '*', name: no-call, call: '{"path": 7}' }
  - { on: '*', name: breaks, call: '$error("no")' }`,
      message,
    );
    expect(routes.map(({ route, outcome, message }) => [route, outcome, message])).toEqual([
      ['no-call', 'dead-letter', 'route no-call: what it gives is no call'],
      ['breaks', 'dead-letter', 'route breaks: no'],
    ]);
  });

  it.each(['', '[]', '{"schema":"3.0"}', '{"id":1}'])('says that %j is no event', async (text) => {
    await expect(tried(`  - { on: '*', topic: audit }`, text)).rejects.toMatchObject({ code: 'bad_request' });
  });
});

it('those of a table follow those of the configuration, in their order', async () => {
  const files = new ConfigFiles();
  const table = files.write(
    `
- { name: second, position: 2, on: 'im.*', topic: audit }
- { name: first, position: 1, on: im.message.receive_v1, topic: audit }
- { name: other, on: approval, topic: audit }
`,
    'table.yaml',
  );
  const { config } = files.load(`
apps: [{ id: cli_a, secret: s }]
routes: [{ name: own, on: '*', topic: audit }]
routeTable: { file: ${table} }
`);
  const { routes } = await tryRoutes(config, JSON.stringify(message));
  expect(routes.map(({ route }) => route)).toEqual(['own', 'first', 'second']);

  files.write("[{ name: bad, on: '*', call: '{{{' }]", 'table.yaml');
  expect((await tryRoutes(config, JSON.stringify(message))).routes.map(({ route }) => route)).toEqual(['own']);
  files.remove();
  await expect(tryRoutes(config, JSON.stringify(message))).rejects.toMatchObject({ code: 'rules_unavailable' });
});
