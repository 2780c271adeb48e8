import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, it } from 'vitest';

import { healthTable } from '../../../src/runtime/doctor/health-table.ts';
import { dataFinding, nodeFinding, portFindings } from '../../../src/runtime/doctor/local.ts';
import { examine } from '../../../src/runtime/doctor.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';

const files = new ConfigFiles();
const folder = mkdtempSync(join(tmpdir(), 'larkspur-doctor-'));
afterAll(() => {
  files.remove();
  rmSync(folder, { recursive: true });
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A token endpoint that answers so. */
async function tokenEndpoint(body: unknown, date = new Date()): Promise<string> {
  const server = createServer((_, reply) => {
    reply.setHeader('date', date.toUTCString());
    reply.end(JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Gives a token to self-built apps alone, and the ticket to store apps alone. */
async function platform(): Promise<string> {
  const server = createServer((request, reply) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const isStore = (JSON.parse(text) as { app_id: string }).app_id === 'cli_store';
      const wantsTicket = request.url === '/open-apis/auth/v3/app_ticket/resend';
      const token = { code: 0, tenant_access_token: 't-secret', expire: 7_200 };
      reply.end(JSON.stringify(isStore !== wantsTicket ? { code: 10_016 } : wantsTicket ? { code: 0 } : token));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function findings(baseUrl: string) {
  const { config } = files.load(`
listen: { ingress: "127.0.0.1:0", admin: "127.0.0.1:0" }
data: ${folder}
apps: [{ id: cli_a1, secret: hunter2hunter2 }]
upstreams: { feishu: { baseUrl: "${baseUrl}" } }
`);
  return examine(config, new RememberingLogger());
}

describe('doctor', () => {
  it('reads the table of routes, and says what in it cannot be used, or why it cannot be read', async () => {
    const routes = async (table: string) => {
      const { config } = files.load(`
listen: { ingress: "127.0.0.1:0", admin: "127.0.0.1:0" }
data: ${folder}
routeTable: ${table}
`);
      return (await examine(config, new RememberingLogger())).filter(({ name }) => name === 'routes');
    };
    const file = files.write(
      "[{ name: a, on: x, topic: audit }, { name: b, on: x }, { name: c, on: x, call: '{{{' }]",
      'table.yaml',
    );
    expect(await routes(`{ file: ${file} }`)).toMatchObject([
      { state: 'ok', message: '1 routes in the table' },
      { state: 'warn', message: expect.stringContaining('b: the rule is left out: it leads to nothing') as string },
      { state: 'warn', message: expect.stringContaining('c: the rule is left out: route c: ') as string },
    ]);
    const dead = await routes("{ mysql: 'mysql://me:hunter2@127.0.0.1:1/routing' }");
    expect(dead).toMatchObject([{ state: 'bad', message: expect.stringContaining('127.0.0.1:1/routing') as string }]);
    expect(JSON.stringify(dead)).not.toContain('hunter2');
  });

  it('finds nothing wrong with a sound house, and asks for a token of each app', async () => {
    const found = await findings(await tokenEndpoint({ code: 0, tenant_access_token: 't-secret', expire: 7200 }));

    expect(found.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(found.map(({ name }) => name)).toEqual([
      'node',
      'data',
      'port-ingress',
      'port-admin',
      'feishu',
      'clock',
      'app-cli_a1',
      'feishu-probes',
      'feishu-p95',
      'feishu-token',
    ]);
    expect(JSON.stringify(found)).not.toMatch(/t-secret|hunter2/);
  });

  it('tells refused credentials, though the status is 200, with a cure', async () => {
    const found = await findings(await tokenEndpoint({ code: 10014, msg: 'hunter2hunter2' }));

    const [app] = found.filter(({ name }) => name === 'app-cli_a1');
    expect(app).toMatchObject({
      name: 'app-cli_a1',
      state: 'bad',
      message: expect.stringContaining('code 10014') as string,
    });
    expect(app?.cure).toContain('id and secret');
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  it.each([
    [{ ms: 800, good: true, expireS: 1_800 }, ['ok', 'ok', 'ok']],
    [{ ms: 801, good: true, expireS: 7_200 }, ['ok', 'warn', 'ok']],
    [{ ms: 10, good: true, expireS: 1_799 }, ['ok', 'ok', 'warn']],
    [{ ms: 10, good: true, expireS: undefined }, ['ok', 'ok', 'warn']],
    [{ ms: 10, good: false, expireS: undefined }, ['bad', 'ok', 'ok']],
  ] as const)('S000-56: three rows tell how Feishu is: value, limit, verdict: %o', (third, states) => {
    const well = { ms: 100, good: true, expireS: 7_200 };
    const rows = healthTable([well, well, third]);

    expect(rows.map(({ name, state }) => [name, state])).toEqual(
      ['feishu-probes', 'feishu-p95', 'feishu-token'].map((name, index) => [name, states[index]]),
    );
    const text = rows.map(({ message }) => message).join('\n');
    for (const limit of ['all must be', 'at most 800', 'at least 1800']) expect(text).toContain(limit);
  });

  it.each([
    ['alone', [], []],
    ['before a self-built one', ['self-built'], ['feishu-probes', 'feishu-p95', 'feishu-token']],
  ])('asks for the ticket of a store app, which gets no token without one: %s', async (_, others, table) => {
    const kinds = ['store', ...others];
    const { config } = files.load(`
listen: { ingress: "127.0.0.1:0", admin: "127.0.0.1:0" }
data: ${folder}
tokenKey: ${'k'.repeat(32)}
apps: [${kinds.map((kind) => `{ id: cli_${kind}, secret: hunter2hunter2, kind: ${kind} }`).join(', ')}]
upstreams: { feishu: { baseUrl: "${await platform()}" } }
`);
    const found = await examine(config, new RememberingLogger());

    expect(found.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(found.map(({ name }) => name).filter((name) => /^feishu-|^app-/.test(name))).toEqual([
      ...kinds.map((kind) => `app-cli_${kind}`),
      ...table,
    ]);
  });

  it('says of a store app that is refused what was asked for, and that it may be none', async () => {
    const { config } = files.load(`
listen: { ingress: "127.0.0.1:0", admin: "127.0.0.1:0" }
data: ${folder}
tokenKey: ${'k'.repeat(32)}
apps: [{ id: cli_own, secret: hunter2hunter2, kind: store }]
upstreams: { feishu: { baseUrl: "${await platform()}" } }
`);
    const found = await examine(config, new RememberingLogger());

    expect(found.filter(({ state }) => state === 'bad')).toMatchObject([
      {
        message: 'the ticket endpoint refuses: code 10016',
        cure: expect.stringContaining('a store app') as string,
      },
    ]);
  });

  it('warns of a clock that is wrong', async () => {
    const found = await findings(await tokenEndpoint({ code: 0 }, new Date(Date.now() - 60_000)));

    expect(found).toContainEqual(expect.objectContaining({ name: 'clock', state: 'warn' }));
  });

  it('tells an upstream that cannot be reached', async () => {
    const found = await findings('http://127.0.0.1:1');

    expect(found).toContainEqual(
      expect.objectContaining({
        name: 'feishu',
        state: 'bad',
        message: 'http://127.0.0.1:1 cannot be reached: refused',
      }),
    );
  });

  it.each([
    ['20.19.0', 'ok'],
    ['22.0.0', 'ok'],
    ['20.18.9', 'bad'],
    ['18.20.0', 'bad'],
  ])('calls Node %s %s', (version, state) => {
    expect(nodeFinding(version).state).toBe(state);
  });

  it('warns of a port that is taken and names an address that is not of this machine', async () => {
    const taken = createTcpServer();
    await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const found = await portFindings({ ingress: { host: '127.0.0.1', port }, admin: { host: '192.0.2.1', port: 1 } });
    taken.close();

    expect(found.map(({ name, state }) => [name, state])).toEqual([
      ['port-ingress', 'warn'],
      ['port-admin', 'bad'],
    ]);
  });

  it('knows a data folder that can be made, and that memory keeps nothing', () => {
    expect(dataFinding(join(folder, 'not/yet/there')).state).toBe('ok');
    expect(dataFinding('memory').state).toBe('warn');
  });
});
