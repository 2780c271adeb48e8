import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { toArray } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { headerText, type InRecord } from '../../../src/model/record.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { messageEvent } from '../../../src/sandbox/events/bodies.ts';
import { seal } from '../../../src/sandbox/events/seal.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const waiting = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

let upstream: Server;
let served: Served;
afterEach(async () => {
  await served.stop();
  upstream.closeAllConnections();
  upstream.close();
});

interface Seen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A house whose Feishu answers as told; `seen` are the requests but those for tokens. */
async function house(answer: (nth: number) => { status: number; body?: unknown } | undefined, more = '') {
  const seen: Seen[] = [];
  upstream = createServer((request, response) => {
    request.resume();
    if (request.url?.includes('/auth/') === true) {
      response.end(JSON.stringify({ code: 0, tenant_access_token: 't-1', expire: 7_200 }));
      return;
    }
    seen.push({ path: request.url ?? '', headers: request.headers });
    const said = answer(seen.length);
    if (said === undefined) return;
    response.writeHead(said.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(said.body ?? { code: 0, data: {} }));
  });
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
  const { port } = upstream.address() as AddressInfo;
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: key }]
upstreams: { feishu: { baseUrl: 'http://127.0.0.1:${port}', timeouts: { attemptMs: 10000 } } }
${more}`);
  files.remove();
  served = await serve(config, [], { worker: true, ingress: true });
  const records = (topic: string): Promise<InRecord[]> => only(served.stores.tail(topic, 1_000).pipe(toArray()));
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${served.ingressUrl ?? ''}${path}`, { method: 'POST', body, headers });
  return { seen, records, post };
}

const route = `
routes:
  - on: im.message.receive_v1
    name: echo
    call: { path: /open-apis/im/v1/messages, query: { receive_id_type: chat_id }, body: '{"receive_id": event.message.chat_id, "msg_type": "text", "content": event.message.content}' }`;
const call = {
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'text', content: '{}' },
};

describe('context', () => {
  it('S000-27, S000-28, S000-29: request id, trace and open_id go from the webhook over event, call and three retries to the result; a forged open_id does not', async () => {
    const { seen, records, post } = await house((nth) => ({ status: nth <= 3 ? 503 : 200 }), route);
    const target = { urls: [''], app: 'cli_a', encryptKey: 'key' };
    const { body } = messageEvent(target, { n: 1, subject: 'oc_1', wallMs: Date.now(), salt: 's' });
    const sealed = seal(target, body, Date.now(), seededRandom(1));
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const answer = await post('/feishu/cli_a/events', sealed.body, {
      ...sealed.headers,
      ...{ 'x-request-id': 'req-1', traceparent, 'x-feishu-openid': 'ou_forged', 'x-retry-count': '99' },
    });
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, 'req-1']);

    await vi.waitFor(async () => expect(await records('results')).toHaveLength(1), waiting);
    const openId = (body as { event: { sender: { sender_id: { open_id: string } } } }).event.sender.sender_id.open_id;
    const wanted = { 'x-request-id': 'req-1', 'x-feishu-openid': openId, traceparent };
    for (const topic of ['events', 'calls', 'results']) {
      const [record] = await records(topic);
      const carried = Object.keys(wanted).map((name) => [name, headerText(record?.headers ?? [], name)]);
      expect([topic, Object.fromEntries(carried)]).toEqual([topic, wanted]);
    }
    expect(seen).toHaveLength(4);
    expect(seen.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1', '2', '3']);
    for (const { headers } of seen) expect(headers).toMatchObject(wanted);
  });

  it('S000-29: a call without a verified user gets no open_id, whatever its client sends', async () => {
    const { seen, post } = await house(() => ({ status: 200 }));
    await post('/v1/calls?wait=10s', JSON.stringify(call), { 'x-feishu-openid': 'ou_forged' });
    expect(seen.map(({ headers }) => headers['x-feishu-openid'])).toEqual([undefined]);
  });
});

describe('the answer to who waits', () => {
  it('S002-06: is the data; in an outage 503 in time, with words for people and Retry-After', async () => {
    let up = true;
    const { post } = await house(() => ({ status: up ? 200 : 503, body: { code: 0, data: { n: 1 } } }));
    const good = await post('/v1/calls?wait=3s', JSON.stringify(call));
    expect([good.status, await good.json()]).toMatchObject([200, { response: { body: { data: { n: 1 } } } }]);

    up = false;
    const read = { path: '/open-apis/contact/v3/users/ou_1', ttlMs: 2_500 };
    const bad = await post('/v1/calls?wait=3s', JSON.stringify(read));
    expect(bad.status).toBe(503);
    expect(Number(bad.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await bad.json()).toMatchObject({
      code: 'no_answer',
      reason: 'deadline_passed',
      detail: expect.stringMatching(/[Tt]ry again/) as unknown,
    });
  });
});
