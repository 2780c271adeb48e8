import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';

import { afterEach, expect, it } from 'vitest';

import { postOnce } from '../../../../src/runtime/playbooks/actions.ts';
import { playbookOf, PlayWorld, ran } from '../../../support/play-world.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(answer: RequestListener, port = 0): Promise<number> {
  const server = createServer(answer).listen(port, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const when = 'when: { metric: value, above: 0, clearForMs: 0 }\ncoolDownMs: 60000\n';
const tell = (port: number, kind = 'http') =>
  playbookOf(`name: tell\n${when}then:\n  - alert: { ${kind}: { webhook: 'http://127.0.0.1:${port}' }, text: high }`);

it.each([
  ['', 0],
  [', also where the next try is refused', 1],
])('a deployment that was scaled, the answer lost, is scaled back when it is over%s', async (_, refusals) => {
  const tries = 2 + refusals;
  let replicas = 3;
  let losses = 1;
  const port = await listen((request, response) => {
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
      if (request.method === 'PATCH') {
        replicas = (JSON.parse(body) as { spec: { replicas: number } }).spec.replicas;
        if (losses-- > 0) request.socket.destroy();
        else if (refusals-- > 0) response.statusCode = 403;
      }
      response.end(JSON.stringify({ spec: { replicas } }));
    })();
  });
  const api = `http://127.0.0.1:${port}`;
  const world = new PlayWorld([
    playbookOf(`name: grow\n${when}then:\n  - scale: { deployment: worker, replicas: 8, api: '${api}' }`),
  ]);
  await world.run(1, 1);
  expect([await ran(world), replicas]).toMatchObject([[[{ outcome: 'failed' }]], 8]);
  for (let nth = 2; nth <= tries; nth++) {
    await world.run(11, 1);
    await ran(world, nth);
  }
  expect((await ran(world))[tries - 1]).toMatchObject([{ outcome: 'done' }]);
  await world.run(1, 0);
  expect((await ran(world, tries + 1))[tries]).toMatchObject([{ outcome: 'undone' }]);
  expect(replicas).toBe(3);
});

it.each([401, 403, 409, 422, 429])('a deployment that a person scaled after a refusal (%i) stays', async (status) => {
  let replicas = 3;
  let refused = 0;
  const port = await listen((request, response) => {
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
      if (request.method === 'PATCH' && refused++ === 0) response.statusCode = status;
      else if (request.method === 'PATCH')
        replicas = (JSON.parse(body) as { spec: { replicas: number } }).spec.replicas;
      response.end(JSON.stringify({ spec: { replicas } }));
    })();
  });
  const api = `http://127.0.0.1:${port}`;
  const world = new PlayWorld([
    playbookOf(`name: grow\n${when}then:\n  - scale: { deployment: worker, replicas: 8, api: '${api}' }`),
  ]);
  await world.run(1, 1);
  expect(await ran(world)).toMatchObject([[{ outcome: 'failed' }]]);
  replicas = 8;
  await world.run(6, 1);
  expect((await ran(world, 2))[1]).toMatchObject([{ outcome: 'done' }]);
  await world.run(1, 0);
  await ran(world, 3);
  expect(replicas).toBe(8);
});

it('an address that may have the message and gave no answer is not told again, by no worker', async () => {
  let got = 0;
  const port = await listen((request) => {
    got++;
    request.socket.destroy();
  });
  const world = new PlayWorld([tell(port)], {}, 2);
  await world.run(1, 1);
  await ran(world, 2);
  for (let times = 0; times < 5; times++) {
    await world.run(40, 1);
    for (const playbooks of world.playbooks) await playbooks.idle();
  }
  expect(got).toBe(1);
});

it.each([
  ['an address', 'http', '{}'],
  ['a bot', 'feishu', '{"code":0}'],
])('%s that was not reached is tried again', async (_, kind, answer) => {
  const port = await listen(() => undefined);
  const [server] = servers.splice(0);
  server?.close();
  const world = new PlayWorld([tell(port, kind)]);
  await world.run(1, 1);
  expect(await ran(world)).toMatchObject([
    [{ outcome: 'failed', detail: expect.stringContaining('did not answer') as string }],
  ]);
  await listen((_, response) => response.end(answer), port);
  await world.run(6, 1);
  expect((await ran(world, 2))[1]).toMatchObject([{ outcome: 'done' }]);
});

it('an address that takes connections and opens none counts as not reached', async () => {
  const silent = createTcpServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const told = postOnce('the bot')(`https://127.0.0.1:${port}`, '{}', {}, 20_000);
  await expect(told).rejects.toMatchObject({ code: 'upstream_unavailable' });
  silent.close();
});
