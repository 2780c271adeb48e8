import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { type Observable, of, Subject, take, throwError, toArray } from 'rxjs';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import type { Call } from '../../../../src/model/call.ts';
import type { RouteSpec, RouteTarget } from '../../../../src/model/route.ts';
import type { RecordSink } from '../../../../src/ports/record-sink.ts';
import { type EventDoor, type EventDoorOptions, openEventDoor } from '../../../support/event-door.ts';
import { HeldSink } from '../../../support/held-sink.ts';
import { only } from '../../../support/only.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-callbacks-'));
afterAll(() => rmSync(folder, { recursive: true }));
const open: EventDoor[] = [];
afterEach(async () => {
  for (const door of open.splice(0)) await door.close();
});

const route = (to: RouteTarget, more: Partial<RouteSpec> = {}): RouteSpec => ({
  ...{ name: 'card', on: 'card.action.trigger', app: undefined, when: undefined, to },
  ...more,
});
const service = route({ kind: 'http', upstream: 'hook', path: '/card' });
const openDoor = async (options: EventDoorOptions) => {
  const door = await openEventDoor(options);
  open.push(door);
  return door;
};
const callsOf = async ({ store }: EventDoor) =>
  (await only(store.tail('calls', { last: 100, follow: false }).pipe(toArray()))).map(
    ({ value }) => JSON.parse(String(value)) as Call,
  );
const held = (sink: RecordSink): RecordSink => {
  const away = new HeldSink(sink);
  away.hold();
  return away;
};
const soon = { timeout: 20_000, interval: 5 };

describe('POST /feishu/{app}/callbacks', () => {
  it('answers with what the expression of the first route that fits gives, each time, and keeps a copy on events', async () => {
    const toast = `{ "toast": { "type": "info", "content": "got " & event.action.value.n } }`;
    const door = await openDoor({
      routes: [
        route({ kind: 'answer', template: '{}' }, { when: 'event.action.value.n = 99' }),
        route({ kind: 'answer', template: toast }, { name: 'second' }),
      ],
    });

    expect((await door.press({ n: 1 })).json()).toEqual({ toast: { type: 'info', content: 'got 1' } });
    expect((await door.press({ n: 1 })).json()).toEqual({ toast: { type: 'info', content: 'got 1' } });
    await vi.waitFor(async () => expect(await door.events()).toHaveLength(2), soon);
    expect((await door.records()).map(({ key }) => String(key))).toEqual(['oc_1', 'oc_1']);
  });

  it('answers with what a handler returns, and makes the calls that it asks for', async () => {
    const file = join(folder, 'card.mjs');
    const text = `export default (event, ctx) => { ctx.call({ path: '/x' }); return { toast: { content: event.app } }; };`;
    writeFileSync(file, text);
    const handler: RouteTarget = { kind: 'handler', module: pathToFileURL(file).href, timeoutMs: 60_000 };
    const door = await openDoor({ routes: [route(handler)] });

    expect((await door.press({})).json()).toEqual({ toast: { content: 'cli_0123456789abcdef' } });
    await vi.waitFor(
      async () => expect(await callsOf(door)).toMatchObject([{ path: '/x', app: 'cli_0123456789abcdef' }]),
      soon,
    );
  });

  it('F27: after 2.5 s answers {}, and makes a card that comes later into an update by the token of the callback', async () => {
    const answer$ = new Subject<unknown>();
    const asked: unknown[] = [];
    function ask(call: unknown): Observable<unknown> {
      asked.push(call);
      return answer$.pipe(take(1));
    }
    const door = await openDoor({ routes: [service], ask });
    const pressed = door.press({ n: 1 });
    await vi.waitFor(() => expect(asked).toMatchObject([{ upstream: 'hook', path: '/card' }]), soon);
    door.time.advance(2_500);
    expect(await pressed).toMatchObject({ status: 200, text: '{}' });

    answer$.next({ card: { type: 'raw', data: { elements: [] } } });
    await vi.waitFor(async () => expect(await callsOf(door)).toHaveLength(1), soon);
    expect(await callsOf(door)).toMatchObject([
      {
        path: '/open-apis/interactive/v1/card/update',
        body: { token: expect.stringMatching(/^c-/) as unknown, card: { elements: [] } },
        ttlMs: 1_800_000,
      },
    ]);
  });

  it('answers in time with what a service says, and 503 when it fails, so that the user sees an error', async () => {
    const good = await openDoor({ routes: [service], ask: () => of({ toast: { content: 'ok' } }) });
    const bad = await openDoor({ routes: [service], ask: () => throwError(() => new Error('no')) });

    expect((await good.press({})).json()).toEqual({ toast: { content: 'ok' } });
    expect((await bad.press({})).status).toBe(503);
  });

  it('answers {} when no route fits, and 401 to what is not signed', async () => {
    const door = await openDoor({});

    expect(await door.press({})).toMatchObject({ status: 200, text: '{}' });
    expect((await door.send('{}')).status).toBe(401);
  });

  it('answers although events cannot be stored at present', async () => {
    const door = await openDoor({
      routes: [route({ kind: 'answer', template: '{ "toast": {} }' })],
      sink: (store) => held(store.sink),
    });

    expect((await door.press({})).json()).toEqual({ toast: {} });
  });
});
