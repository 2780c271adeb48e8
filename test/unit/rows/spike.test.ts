import { describe, expect, it } from 'vitest';

import { minuteNamed } from '../../../src/cli/spike-minute.ts';
import { spikeText } from '../../../src/cli/spike-text.ts';
import { type Spike, spikeOf, together } from '../../../src/model/spike.ts';
import { askSpike } from '../../../src/runtime/ask-spike.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { news } from '../../support/calls.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { type BenchOptions, PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply } from '../../support/scripted-upstream.ts';

const minuteMs = 60_000;
const perMinute = 30;

/** A worker with half an hour of steady traffic behind it: a call each two seconds, answered in 20 ms. */
function steady(options: BenchOptions = {}) {
  const bench = new PipelineBench(options);
  const member = bench.group.member();
  const { house } = bench.start(member);
  bench.group.give(0, member);
  let n = 0;
  const minute = (each = (): void => bench.call(news(`n-${n++}`), `k-${n}`)): number => {
    const { time } = bench;
    bench.run((minuteMs - (time.wall() % minuteMs)) % minuteMs);
    const beganMs = time.wall();
    for (let call = 0; call < perMinute; call++) {
      each();
      bench.run(minuteMs / perMinute);
    }
    return beganMs;
  };
  const answer = (reply: (nth: number) => Reply): void => {
    bench.upstream('news').script = ({ nth }) => ({ afterMs: 20, ...reply(nth) });
  };
  answer(() => ({}));
  for (let passed = 0; passed < 30; passed++) minute();
  const spikeAt = (wallMs: number): Spike => {
    const view = house.minutes.view(wallMs);
    if (view === undefined) throw new Error('no call ended in that minute');
    return spikeOf(view);
  };
  return { bench, member, minute, answer, spikeAt, call: () => bench.call(news(`n-${n++}`), `k-${n}`) };
}

describe('explain --spike', () => {
  it('S000-94: names the queue delay first where records waited in their topic, and by how much of the rise it explains', () => {
    const { bench, member, call, spikeAt } = steady();
    bench.group.give(0, undefined);
    for (let n = 0; n < perMinute; n++) call();
    bench.run(20_000);
    bench.group.give(0, member);
    bench.run(1_000);
    const spike = spikeAt(bench.time.wall());
    expect(spike.rises[0]).toMatchObject({ cause: 'queue' });
    expect(spike.rises[0]!.ms).toBeGreaterThan(9_000);
    expect(spike.rises[0]!.share).toBeGreaterThan(0.9);
    expect(spike.usualMs).toBeLessThan(100);
    const text = spikeText(spike);
    expect(text).toMatch(/^In the minute \S+ a call took [\d.]+ s on average, [\d.]+ s more than usual/);
    const lines = text.split('\n');
    expect(lines[lines.indexOf('What the rise is made of, on average per call:') + 1]).toMatch(/ %.*queue delay/);
  });

  it.each<readonly [cause: string, reply: (nth: number) => Reply]>([
    ['upstream', () => ({ afterMs: 900 })],
    ['server-errors', (nth) => (nth <= 2 ? { status: 503, afterMs: 10 } : {})],
    ['network', (nth) => (nth <= 2 ? { fail: { how: 'reset', sent: false } } : {})],
  ])('names %s first where that is what calls took longer for', (cause, reply) => {
    const { minute, answer, spikeAt } = steady();
    answer(reply);
    const spike = spikeAt(minute());
    expect(spike.rises[0]?.cause).toBe(cause);
    expect(spike.rises[0]!.share).toBeGreaterThan(0.9);
    expect(spike.slowest[0]).toMatchObject({ cause, upstream: 'news' });
    expect([spike.at.serverErrors > perMinute, spike.at.networkErrors > perMinute]).toEqual([
      cause === 'server-errors',
      cause === 'network',
    ]);
  });

  it('names the limiter where calls waited for quota', () => {
    const { minute, spikeAt, call } = steady({
      upstreams: { feishu: {}, news: { limits: [{ limit: 20, windowMs: 10_000 }] } },
    });
    let first = true;
    const beganMs = minute(() => {
      for (let n = 0; n < (first ? 100 : 1); n++) call();
      first = false;
    });
    const spike = spikeAt(beganMs);
    expect(spike.rises[0]?.cause).toBe('limiter');
  });

  it('gives each moment of a call to one cause: together they are the time of the call', () => {
    const { minute, answer, spikeAt } = steady();
    answer((nth) => (nth === 1 ? { status: 503 } : { afterMs: 300 }));
    const { at } = spikeAt(minute());
    const sum = Object.values(at.causeMs).reduce((a, b) => a + b, 0);
    expect(sum).toBeCloseTo(at.totalMs, 3);
    expect(at.causeMs.other).toBeLessThan(at.totalMs * 0.02);
  });

  it('finds no rise in a minute like any other, and does not take a spike that lasts for the usual', () => {
    const { minute, answer, spikeAt } = steady();
    const calm = spikeAt(minute());
    expect(calm.rises).toEqual([]);
    expect(spikeText(calm)).toContain('no more than usual');
    answer(() => ({ afterMs: 900 }));
    let last = 0;
    for (let n = 0; n < 20; n++) last = minute();
    expect(spikeAt(last).rises[0]).toMatchObject({ cause: 'upstream' });
    expect(spikeAt(last).usualMs).toBeLessThan(100);
  });

  it('knows nothing of a minute in which no call ended, nor of one more than a day ago', () => {
    const { bench, minute, spikeAt } = steady();
    const beganMs = minute();
    expect(spikeAt(beganMs).at.calls).toBe(perMinute);
    expect(() => spikeAt(beganMs + minuteMs)).toThrow('no call ended');
    bench.run(25 * 60 * minuteMs);
    minute();
    expect(() => spikeAt(beganMs + 24 * 60 * minuteMs)).toThrow('no call ended');
  });

  it('of several workers is told as of one', () => {
    const { minute, answer, spikeAt } = steady();
    answer(() => ({ afterMs: 500 }));
    const one = spikeAt(minute());
    const both = spikeOf(together([one, one])!);
    expect(both.at.calls).toBe(2 * one.at.calls);
    expect(both.meanMs).toBeCloseTo(one.meanMs, 6);
    expect(both.rises[0]?.cause).toBe('upstream');
    expect(both.slowest).toHaveLength(3);
  });
});

describe('the minute that a person names', () => {
  const nowMs = new Date(2026, 10, 30, 15, 0, 30).getTime();

  it('is the last time that a clock here showed it, or a date with a time', () => {
    expect(minuteNamed('14:30', nowMs)).toBe(new Date(2026, 10, 30, 14, 30).getTime());
    expect(minuteNamed('15:01', nowMs)).toBe(new Date(2026, 10, 29, 15, 1).getTime());
    expect(minuteNamed('2026-11-30T02:00:00Z', nowMs)).toBe(Date.UTC(2026, 10, 30, 2));
  });

  it.each(['', '24:00', '14:60', 'noon', '2027-01-01T00:00:00Z'])('is none in %s', (text) => {
    expect(() => minuteNamed(text, nowMs)).toThrow(/names no minute/);
  });
});

it('explain --spike asks the admin port of a running worker', async () => {
  const sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: false });
  try {
    const { adminUrl } = served;
    await expect(askSpike(config, [adminUrl], Date.now() - 3_600_000)).rejects.toThrow(/no call ended/);
    const call = {
      path: '/open-apis/im/v1/messages',
      query: { receive_id_type: 'chat_id' },
      body: { receive_id: 'oc' },
    };
    const value = Buffer.from(JSON.stringify(call));
    const sentMs = Date.now();
    await only(served.stores.sink.append({ topic: 'calls', key: null, value, headers: [] }));
    // It may have ended in the minute after that in which it was sent.
    const asked = () => Promise.any([sentMs, Date.now()].map((atMs) => askSpike(config, [adminUrl], atMs)));
    const known = () => asked().catch(() => undefined);
    const told = { at: { calls: 1, attempts: 1 }, slowest: [{ upstream: 'feishu' }] };
    await expect.poll(known, { timeout: 10_000 }).toMatchObject(told);
  } finally {
    await served.stop();
    await sandbox.close();
  }
}, 30_000);
