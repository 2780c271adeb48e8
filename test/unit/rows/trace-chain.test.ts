import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import { redriven } from '../../../src/model/dead-letter.ts';
import { headerText } from '../../../src/model/record.ts';
import { readTraceparent } from '../../../src/model/trace-context.ts';
import { messageEvent } from '../../../src/sandbox/events/bodies.ts';
import { seal } from '../../../src/sandbox/events/seal.ts';
import { only } from '../../support/only.ts';
import type { CollectedSpan } from '../../support/otlp-collector.ts';
import { api, call, closeAll, openTracedHouse, patience } from '../../support/traced-house.ts';
import { seededRandom } from '../../support/virtual-time.ts';

vi.setConfig({ testTimeout: 60_000 });
afterEach(closeAll);

const folder = mkdtempSync(join(tmpdir(), 'larkspur-traced-'));
const handler = join(folder, 'echo.mjs');
writeFileSync(
  handler,
  `export default ({ event: { message } }, ctx) => ctx.call({
    path: '/open-apis/im/v1/messages',
    query: { receive_id_type: 'chat_id' },
    body: { receive_id: message.chat_id, msg_type: 'text', content: message.content },
  });`,
);
afterAll(() => rmSync(folder, { recursive: true }));
const template = `{ path: /open-apis/im/v1/messages, query: { receive_id_type: chat_id }, body: '{"receive_id": event.message.chat_id, "msg_type": "text", "content": event.message.content}' }`;

/** The names from the first span to one of them, each the parent of the next. */
function wayTo(name: string, spans: readonly CollectedSpan[]): string[] {
  const way: string[] = [];
  let span = spans.find((one) => one.name === name);
  while (span !== undefined) {
    way.unshift(span.name);
    const { parentSpanId } = span;
    span = spans.find(({ spanId }) => spanId === parentSpanId);
  }
  return way;
}

/** Signs an event as Feishu does. */
function signed() {
  const target = { urls: [''], app: 'cli_a', encryptKey: 'key' };
  const { body } = messageEvent(target, { n: 1, subject: 'oc_1', wallMs: Date.now(), salt: 's' });
  return seal(target, body, Date.now(), seededRandom(1));
}

describe('one trace', () => {
  it.each([
    ['a template', `call: ${template}`],
    ['a handler', `handler: '${handler}'`],
  ])(
    'S000-31: goes from a signed webhook over event, %s and call to one call of the OpenAPI, and to its result',
    async (_, to) => {
      const { served, sandbox, records, trace } = await openTracedHouse(
        `\nroutes:\n  - { on: im.message.receive_v1, name: echo, ${to} }`,
      );
      const { body, headers } = signed();
      const answer = await fetch(`${served.ingressUrl ?? ''}/feishu/cli_a/events`, { method: 'POST', body, headers });
      expect(answer.status).toBe(200);
      const spans = await trace('send results');
      await vi.waitFor(async () => expect(await records('results')).toHaveLength(1), patience);

      expect(sandbox.effects().effects).toBe(1);
      expect(wayTo(api, await trace(api))).toEqual([
        'POST /feishu/:app/events',
        'send events',
        'process events',
        'send calls',
        'process calls',
        api,
      ]);
      expect(wayTo('send results', spans).slice(-2)).toEqual(['process calls', 'send results']);
      expect(spans.length).toBeGreaterThanOrEqual(5);
      expect(new Set(spans.map(({ service }) => service['service.name']))).toEqual(new Set(['larkspur']));
      // The client and everybody after us can go on with it.
      const ids = [
        answer.headers.get('traceresponse'),
        headerText((await records('results'))[0]!.headers, 'traceparent'),
      ];
      expect(ids.map((text) => readTraceparent(text ?? '')?.traceId)).toEqual([spans[0]!.traceId, spans[0]!.traceId]);
    },
  );

  it('shows a retry as two attempts, and a call that is sent again as another one that links back', async () => {
    const { served, sandbox, records, trace, collector } = await openTracedHouse();
    sandbox.setFaults([{ kind: '503', match: { times: 1 } }]);
    const post = () =>
      fetch(`${served.ingressUrl ?? ''}/v1/calls?wait=20s`, { method: 'POST', body: JSON.stringify(call) });
    expect((await post()).status).toBe(200);
    const spans = await trace('send results');
    const attempts = spans.filter(({ name }) => name === api);
    expect(attempts.map(({ failed, attributes }) => [failed, attributes['http.response.status_code']])).toEqual([
      [true, 503],
      [false, 200],
    ]);
    expect(spans.filter(({ name }) => name === 'wait retry')).toHaveLength(1);
    expect(attempts[0]?.attributes['server.address']).toBe('127.0.0.1');

    sandbox.setFaults([{ kind: 'code', code: 230_002, match: { times: 1 } }]);
    expect((await post()).status).toBe(503);
    const [letter] = await records('dead-letters');
    await only(served.stores.sink.append(redriven(letter!)));
    await vi.waitFor(async () => expect(await records('results')).toHaveLength(2), patience);
    await vi.waitFor(() => expect(collector.spans.filter(({ links }) => links.length > 0)).toHaveLength(1), patience);
    const [again] = collector.spans.filter(({ links }) => links.length > 0);
    const ended = collector.spans.find(({ name }) => name === 'send dead-letters');
    expect(again?.links).toEqual([{ traceId: ended?.traceId, spanId: ended?.spanId }]);
  });
});
