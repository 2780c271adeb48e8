import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { Sandbox } from '../../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { playbookOf, PlayWorld, ran } from '../../../support/play-world.ts';

const servers: (Server | Sandbox)[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await Promise.resolve(server.close());
});

async function listen(answer: (request: IncomingMessage, body: string) => { status?: number; body?: unknown }) {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { status = 200, body = {} } = answer(request, text);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const when = 'when: { metric: value, above: 0, clearForMs: 0 }\ncoolDownMs: 60000\n';

describe('a playbook that scales', () => {
  /** A cluster with one Deployment of three replicas. */
  async function cluster() {
    const asked: string[] = [];
    const state = { replicas: 3 };
    const api = await listen((request, body) => {
      asked.push(`${request.method ?? ''} ${request.url ?? ''} ${body}`.trim());
      if (request.method === 'PATCH') state.replicas = (JSON.parse(body) as { spec: typeof state }).spec.replicas;
      return { body: { kind: 'Scale', spec: { ...state } } };
    });
    return { api, asked, state };
  }
  const scale = (api: string, more = '') =>
    `name: grow\n${when}then:\n  - scale: { deployment: larkspur-worker, namespace: feishu, replicas: 8, api: '${api}' }\n${more}`;

  it('S000-90: sets replicas = 8 and back to what was there; a rehearsal says the same and asks nobody', async () => {
    const { api, asked, state } = await cluster();
    const says = 'scale deployment feishu/larkspur-worker: replicas = 8';
    const dry = new PlayWorld([playbookOf(scale(api, 'dryRun: true'))]);
    await dry.run(1, 1);
    expect(await ran(dry)).toEqual([[{ step: says, outcome: 'dry-run' }]]);
    expect(asked).toEqual([]);

    const world = new PlayWorld([playbookOf(scale(api))]);
    await world.run(1, 1);
    expect(await ran(world)).toEqual([[{ step: says, outcome: 'done' }]]);
    expect(state.replicas).toBe(8);
    const path = '/apis/apps/v1/namespaces/feishu/deployments/larkspur-worker/scale';
    expect(asked).toEqual([`GET ${path}`, `PATCH ${path} {"spec":{"replicas":8}}`]);

    await world.run(1, 0);
    expect((await ran(world, 2))[1]).toEqual([
      { step: says, outcome: 'undone', detail: 'scaled deployment feishu/larkspur-worker back: replicas = 3' },
    ]);
    expect(state.replicas).toBe(3);
  });

  it('leaves alone what somebody else has scaled meanwhile', async () => {
    const { api, state } = await cluster();
    const world = new PlayWorld([playbookOf(scale(api))]);
    await world.run(1, 1);
    await ran(world);
    state.replicas = 12;
    await world.run(1, 0);
    await ran(world, 2);
    expect(state.replicas).toBe(12);
  });

  it('makes nothing smaller: where there are more already it leaves them alone, then and when it is over', async () => {
    const { api, asked, state } = await cluster();
    state.replicas = 12;
    const world = new PlayWorld([playbookOf(scale(api))]);
    await world.run(1, 1);
    await ran(world);
    await world.run(1, 0);
    await ran(world, 2);
    expect(state.replicas).toBe(12);
    expect(asked.filter((line) => line.startsWith('PATCH'))).toEqual([]);
  });

  it('says why the cluster refused', async () => {
    const api = await listen(() => ({ status: 403 }));
    const world = new PlayWorld([playbookOf(scale(api))]);
    await world.run(1, 1);
    expect(await ran(world)).toMatchObject([
      [{ outcome: 'failed', detail: 'Kubernetes answered HTTP 403 for feishu/larkspur-worker' }],
    ]);
  });

  it('runs a program instead, without a shell', async () => {
    const program = (code: string) => JSON.stringify([process.execPath, '-e', code, '{replicas}']);
    const run = (code: string) =>
      playbookOf(`name: run\n${when}then:\n  - scale: { replicas: 8, command: ${program(code)} }`);
    const good = new PlayWorld([run('process.exit(process.argv[1] === "8" ? 0 : 1)')]);
    await good.run(1, 1);
    expect(await ran(good)).toMatchObject([[{ outcome: 'done' }]]);
    const bad = new PlayWorld([run('console.error("no such pool"); process.exit(2)')]);
    await bad.run(1, 1);
    expect(await ran(bad)).toMatchObject([
      [{ outcome: 'failed', detail: 'the command failed: exit code 2: no such pool' }],
    ]);
  });
});

describe('a playbook that tells somebody', () => {
  const alert = (webhook: string, more = '') => `
name: tell
${when}then:
  - alert: { feishu: { webhook: '${webhook}', secret: hush }, text: 'value is {value}: {when}', link: 'https://runbook.internal/news'${more} }
`;

  it('S000-92: the bot of a group receives one message with text and link', async () => {
    const sandbox = await createSandbox();
    servers.push(sandbox);
    sandbox.bots.sign('b-1', 'hush');
    const world = new PlayWorld([playbookOf(alert(`${sandbox.url}/open-apis/bot/v2/hook/b-1`))], {}, 2);
    await world.run(5, 0.25);
    await ran(world, 2);
    expect(sandbox.bots.posts()).toHaveLength(1);
    expect(sandbox.bots.posts()[0]?.message).toMatchObject({
      msg_type: 'post',
      content: {
        post: {
          zh_cn: {
            title: 'Larkspur: tell',
            content: [
              [
                { tag: 'text', text: 'value is 0.25: value > 0' },
                { tag: 'a', text: ' https://runbook.internal/news', href: 'https://runbook.internal/news' },
              ],
            ],
          },
        },
      },
    });
    // Whoever knows the address may post: it stands nowhere.
    expect(JSON.stringify([world.audit, world.log.lines])).not.toMatch(/hook\/b-1|hush/);
  });

  it('tells when it is over where that is wanted, and why it could not be told', async () => {
    const sandbox = await createSandbox();
    servers.push(sandbox);
    const hook = `${sandbox.url}/open-apis/bot/v2/hook/b-2`;
    const world = new PlayWorld([playbookOf(alert(hook, ", whenOver: 'all is well'"))]);
    await world.run(1, 1);
    await ran(world);
    await world.run(1, 0);
    await ran(world, 2);
    expect(
      sandbox.bots
        .posts()
        .map(({ message }) => JSON.stringify(message))
        .join(),
    ).toMatch(/value is 1.*all is well/s);

    sandbox.bots.sign('b-2', 'another');
    await world.run(61, 0);
    await world.run(1, 1);
    expect((await ran(world, 3))[2]).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('19021 sign match fail') as string },
    ]);
  });

  it('posts JSON to any address, with headers', async () => {
    const got: string[] = [];
    const url = await listen((request, body) => {
      got.push(`${request.headers.authorization ?? ''} ${body}`);
      return {};
    });
    const yaml = `name: tell\n${when}then:\n  - alert: { http: { webhook: '${url}/in', headers: { authorization: Bearer t } }, text: high }`;
    const world = new PlayWorld([playbookOf(yaml)]);
    await world.run(1, 1);
    expect(await ran(world)).toMatchObject([[{ outcome: 'done' }]]);
    expect(got).toEqual(['Bearer t {"playbook":"tell","when":"value > 0","value":1,"over":false,"text":"high"}']);
  });
});
