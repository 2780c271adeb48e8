import { describe, expect, it } from 'vitest';

import { type Bench, bench } from './client.ts';

const batch = '/open-apis/contact/v3/users/batch?user_ids=ou_1';
const burst = async (b: Bench, count: number) => {
  const replies = await Promise.all(Array.from({ length: count }, () => b.call(batch)));
  return replies.filter(({ json }) => json.code === 0).length;
};

describe('sandbox limits', () => {
  it('lets 50 a second pass, and refuses the next with 429, the code and whole seconds until the reset', async () => {
    const b = await bench();
    expect(await burst(b, 50)).toBe(50);
    b.time.advance(400);

    const refused = await b.call(batch);
    expect(refused).toMatchObject({ status: 429, json: { code: 99991400 } });
    expect(refused.headers).toMatchObject({ 'x-ogw-ratelimit-reset': '1', 'x-ogw-ratelimit-limit': '50' });

    b.time.advance(599);
    expect((await b.call(batch)).status).toBe(429);
    b.time.advance(1);
    expect((await b.call(batch)).status).toBe(200);
  });

  it('refuses by the minute as well, and tells the longer wait', async () => {
    const b = await bench({
      settings: {
        tiers: {
          'contact.user.batch': [
            { limit: 3, windowMs: 60_000 },
            { limit: 2, windowMs: 1_000 },
          ],
        },
      },
    });
    expect(await burst(b, 2)).toBe(2);
    b.time.advance(1_000);
    expect(await burst(b, 1)).toBe(1);

    expect((await b.call(batch)).headers).toMatchObject({
      'x-ogw-ratelimit-reset': '59',
      'x-ogw-ratelimit-limit': '3',
    });
  });

  it('with fixed windows lets twice as many pass around a boundary, which sliding ones do not', async () => {
    const b = await bench({ settings: { tierMode: 'fixed' } });
    const aroundBoundary = async () => {
      b.time.advance(61_000 - (b.time.now() % 1_000) - 1);
      return (await burst(b, 50)) + (b.time.advance(2), await burst(b, 50));
    };
    expect(await aroundBoundary()).toBe(100);
    expect(b.sandbox.stats().buckets[0]?.maxPerSecond).toBe(100);

    b.sandbox.configure({ tierMode: 'sliding' });
    expect(await aroundBoundary()).toBe(50);
  });

  it('counts per app and API, refuses with 400 when told to, and measures all arrivals also when off', async () => {
    const b = await bench({
      settings: { tiers: { 'contact.user.batch': [{ limit: 1, windowMs: 1_000 }] }, refusalStatus: 400 },
    });
    expect(await burst(b, 1)).toBe(1);
    expect(await b.call(batch)).toMatchObject({ status: 400, json: { code: 99991400 } });
    expect((await b.call('/open-apis/contact/v3/users/ou_1')).status).toBe(200);
    await b.signIn('cli_a2', 'other');
    expect(await burst(b, 1)).toBe(1);

    await b.ask('/_sandbox/settings', { method: 'PUT', body: { tierMode: 'off' } });
    expect(await burst(b, 30)).toBe(30);
    expect((await b.ask('/_sandbox/stats')).json).toMatchObject({
      buckets: [
        { bucket: 'cli_a1/tenant_sandbox/contact.user.batch', arrivals: 2, refusals: 1, maxPerSecond: 2 },
        { bucket: 'cli_a1/tenant_sandbox/contact.user.get' },
        {
          bucket: 'cli_a2/tenant_sandbox/contact.user.batch',
          arrivals: 31,
          refusals: 0,
          maxPerSecond: 31,
          maxPerMinute: 31,
        },
      ],
    });
  });

  it('lets five messages a second into one chat, over all apps of the tenant, and can be told not to', async () => {
    const b = await bench();
    const sendFrom = async (first: number, count: number) => {
      const replies = await Promise.all(Array.from({ length: count }, (_, at) => b.send('oc_1', first + at)));
      return replies.filter(({ json }) => json.code === 0).length;
    };
    expect(await sendFrom(1, 3)).toBe(3);
    await b.signIn('cli_a2', 'other');
    expect(await sendFrom(4, 3)).toBe(2);
    expect(await b.send('oc_1', 9)).toMatchObject({ status: 400, json: { code: 230020 } });
    expect((await b.send('oc_2', 1)).json.code).toBe(0);
    expect(b.sandbox.stats().chats).toEqual({ refusals: 2, maxPerSecond: 7 });

    b.sandbox.configure({ chatPerSecond: 0 });
    expect(await sendFrom(10, 20)).toBe(20);
  });

  it('names every mistake in settings and then changes nothing', async () => {
    const b = await bench();
    const reply = await b.ask('/_sandbox/settings', {
      method: 'PUT',
      body: { tierMode: 'elastic', latencyMs: -1, tiers: { nope: [] }, colour: 'red', chatPerSecond: 9 },
    });

    expect(reply.status).toBe(400);
    expect((reply.json as { mistakes?: string[] }).mistakes).toHaveLength(4);
    expect(b.sandbox.settings().chatPerSecond).toBe(5);
  });
});
