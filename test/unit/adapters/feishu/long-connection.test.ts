import { NEVER, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { FrameParts } from '../../../../src/adapters/feishu/link/frame-parts.ts';
import type { Endpoint, LinkListener, LinkWire } from '../../../../src/adapters/feishu/link/link-wire.ts';
import {
  type LinkFailure,
  LongConnection,
  type LongConnectionOptions,
} from '../../../../src/adapters/feishu/link/long-connection.ts';
import { jsonResponse } from '../../../../src/model/http.ts';
import { decodeLinkFrame, encodeLinkFrame, linkHeader, type LinkFrame } from '../../../../src/model/link-frame.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const there: Endpoint = {
  kind: 'there',
  url: 'wss://feishu.example/ws?service_id=42',
  timing: { pingMs: 30_000, retryMs: 120_000, spreadMs: 30_000 },
};
const frame = (type: string, method: LinkFrame['method'], payload = '', more: [string, string][] = []): LinkFrame => ({
  ...{ seqId: 3n, logId: 4n, service: 42, method, payload: Buffer.from(payload) },
  headers: [['type', type], ...more],
});

/** A platform as the test says, and one connection to it. */
function stage(take: LongConnectionOptions['take'] = () => of(jsonResponse(200, {})), endpoint = there) {
  const time = new VirtualTime();
  const log = new RememberingLogger();
  const platform = { endpoint, answersPings: true, opens: true, answers: true };
  const askedMs: number[] = [];
  const failures: LinkFailure[] = [];
  const sent: LinkFrame[] = [];
  let listener: LinkListener | undefined;
  let closed = 0;
  const wire: LinkWire = {
    endpoint: () => {
      askedMs.push(time.now());
      return Promise.resolve(platform.endpoint);
    },
    open: (_, hears) => {
      listener = hears;
      if (platform.answers) queueMicrotask(() => (platform.opens ? hears.opened() : hears.closed()));
      return {
        send: (bytes) => {
          const said = decodeLinkFrame(bytes)!;
          sent.push(said);
          if (platform.answersPings && linkHeader(said, 'type') === 'ping') {
            hears.received(encodeLinkFrame({ ...said, headers: [['type', 'pong']] }));
          }
        },
        close: () => closed++,
      };
    },
    close: () => Promise.resolve(),
  };
  const options = {
    ...{ app: 'cli_a', wire, clock: time, timers: time, random: seededRandom(7), log },
    take,
    failed: (why: LinkFailure) => failures.push(why),
  } satisfies LongConnectionOptions;
  const connection = new LongConnection(options);
  connection.start();
  const deliver = (one: LinkFrame) => listener?.received(encodeLinkFrame(one));
  return {
    time,
    log,
    platform,
    askedMs,
    failures,
    sent,
    connection,
    deliver,
    lose: () => listener?.closed(),
    closed: () => closed,
  };
}

describe('a long connection', () => {
  it('gives back the frame of an event with 200 once it has been taken, and with 500 when it was not', async () => {
    const answers = [of(jsonResponse(200, {})), of(jsonResponse(503, {})), throwError(() => new Error('x')), NEVER];
    const taken: string[] = [];
    const world = stage((payload) => {
      taken.push(String(payload));
      return answers[taken.length - 1]!;
    });
    await world.time.advanceAsync(0);
    for (const n of [1, 2, 3, 4]) world.deliver(frame('event', 'data', `{"n":${n}}`, [['message_id', `m${n}`]]));

    expect(taken).toEqual(['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}']);
    expect(
      world.sent.map((said) => [linkHeader(said, 'message_id'), JSON.parse(String(said.payload)) as unknown]),
    ).toEqual([
      ['m1', { code: 200, headers: {} }],
      ['m2', { code: 500, headers: {} }],
      ['m3', { code: 500, headers: {} }],
    ]);
    expect(world.sent[0]).toMatchObject({ seqId: 3n, logId: 4n, service: 42, method: 'data' });
    expect(linkHeader(world.sent[0]!, 'biz_rt')).toBe('0');
  });

  it('gives the answer to a callback in base64', async () => {
    const world = stage(() => of(jsonResponse(200, { toast: { content: '好' } })));
    await world.time.advanceAsync(0);
    world.deliver(frame('event', 'data', '{}'));
    const { data } = JSON.parse(String(world.sent[0]?.payload)) as { data: string };
    expect(JSON.parse(Buffer.from(data, 'base64').toString())).toEqual({ toast: { content: '好' } });
  });

  it('joins what comes in parts, in any order, and forgets what is never whole', () => {
    const parts = new FrameParts();
    const part = (id: string, seq: number, text: string) =>
      frame('event', 'data', text, Object.entries({ message_id: id, sum: '3', seq: String(seq) }));
    expect([parts.join(part('a', 2, 'c'), 0), parts.join(part('a', 0, 'a'), 0)]).toEqual([undefined, undefined]);
    expect(String(parts.join(part('a', 1, 'b'), 0))).toBe('abc');

    parts.join(part('b', 0, 'a'), 0);
    parts.join(part('b', 1, 'b'), 0);
    expect(parts.join(part('b', 2, 'c'), 5_001)).toBeUndefined();
  });

  it.each([
    ['more parts than any message has', '1e9', '0', undefined],
    ['a part beyond the last', '3', '3', undefined],
    ['a part before the first', '3', '-1', undefined],
    ['a part without a number', '3', 'y', undefined],
    ['parts without a number', 'x', '0', 'odd'],
  ])('takes %s for no part of a message, or for a whole one', (_, sum, seq, whole) => {
    const odd = frame('event', 'data', 'odd', Object.entries({ message_id: 'c', sum, seq }));
    expect(new FrameParts().join(odd, 0)?.toString()).toBe(whole);
  });

  it('F28 (a): that has died without a word is opened anew within the time of a ping', async () => {
    const world = stage();
    await world.time.advanceAsync(60_000);
    expect([world.connection.up, world.askedMs.length]).toEqual([true, 1]);
    expect(world.sent.map((said) => [linkHeader(said, 'type'), said.service, said.method])).toEqual([
      ['ping', 42, 'control'],
      ['ping', 42, 'control'],
    ]);
    world.platform.answersPings = false;
    await world.time.advanceAsync(40_000);
    expect([world.failures, world.closed()]).toEqual([['silent'], 1]);
    world.platform.answersPings = true;
    await world.time.advanceAsync(30_000);
    expect([world.connection.up, world.askedMs.length]).toEqual([true, 2]);
  });

  it('is found silent also where it is pinged more often than an answer may take', async () => {
    const world = stage(undefined, { ...there, timing: { pingMs: 1_000, retryMs: 2_000, spreadMs: 1_000 } });
    await world.time.advanceAsync(60_000);
    expect(world.failures).toEqual([]);
    world.platform.answersPings = false;
    await world.time.advanceAsync(11_500);
    expect(world.failures).toEqual(['silent']);
  });

  it('F28 (b): that answers and brings no events says for how long', async () => {
    const world = stage();
    await world.time.advanceAsync(0);
    world.deliver(frame('event', 'data', '{}'));
    await world.time.advanceAsync(7_200_000);
    expect([world.connection.up, world.connection.quietMs]).toEqual([true, 7_200_000]);
  });

  it('F28 (c): that is refused for 20 minutes is tried with jitter for ever, less and less often, and then it is there', async () => {
    const world = stage(undefined, { kind: 'refused', code: undefined, message: 'no answer' });
    await world.time.advanceAsync(1_200_000);
    const waits = world.askedMs.slice(1).map((atMs, nth) => atMs - world.askedMs[nth]!);
    expect(world.connection.up).toBe(false);
    expect(world.connection.sinceMs).toBe(1_200_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(120_000);
    expect(waits[0]).toBeLessThanOrEqual(1_000);
    expect(new Set(waits.map(Math.round)).size).toBe(waits.length);
    expect(waits.length).toBeGreaterThan(12);
    expect(waits.length).toBeLessThan(60);

    world.platform.endpoint = there;
    await world.time.advanceAsync(120_000);
    expect(world.connection.up).toBe(true);
  });

  it('F29: that would be one too many waits for minutes, and says so aloud', async () => {
    const world = stage(undefined, { kind: 'refused', code: 1_000_040_350, message: 'too many connections' });
    await world.time.advanceAsync(3_600_000);
    const waits = world.askedMs.slice(1).map((atMs, nth) => atMs - world.askedMs[nth]!);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(600_000);
    expect(new Set(world.failures)).toEqual(new Set(['too-many']));
    expect(world.log.text).toContain('1000040350');
  });

  it('is opened again soon and not together with all others when it is lost, and never after its end', async () => {
    const world = stage();
    await world.time.advanceAsync(5_000);
    world.lose();
    expect([world.connection.up, world.failures]).toEqual([false, ['lost']]);
    await world.time.advanceAsync(30_000);
    expect(world.connection.up).toBe(true);
    await world.connection.stop();
    await world.time.advanceAsync(3_600_000);
    expect([world.askedMs.length, world.time.pending, world.connection.up]).toEqual([2, 0, false]);
  });

  it('gives up one that is taken and not opened within 20 s, and opens another; an open one it leaves alone', async () => {
    const world = stage();
    world.platform.answers = false;
    await world.time.advanceAsync(19_999);
    expect([world.failures, world.closed()]).toEqual([[], 0]);
    await world.time.advanceAsync(1);
    expect([world.failures, world.closed(), world.connection.up]).toEqual([['silent'], 1, false]);
    world.platform.answers = true;
    await world.time.advanceAsync(120_000);
    expect([world.failures, world.connection.up, world.askedMs.length]).toEqual([['silent'], true, 2]);
  });
});
