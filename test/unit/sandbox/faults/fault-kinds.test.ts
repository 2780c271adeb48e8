import { describe, expect, it, vi } from 'vitest';

import { bench } from '../client.ts';

describe('sandbox faults', () => {
  it('S000-75: a timeout never answers and has no effect, or when told so has the effect and no answer', async () => {
    const b = await bench({ faults: [{ kind: 'timeout', match: { times: 1 } }] });
    const left = async (n: number) => {
      const caller = new AbortController();
      const sent = b.send('oc_1', n, { uuid: 'key-1', signal: caller.signal });
      const arrivals = b.sandbox.stats().arrivals;
      await vi.waitFor(() => expect(b.sandbox.stats().arrivals).toBe(arrivals + 1));
      b.time.advance(3_600_000);
      caller.abort();
      await expect(sent).rejects.toThrow(/abort/);
      await b.signIn();
    };
    await left(1);
    expect(b.sandbox.effects().effects).toBe(0);

    b.sandbox.setFaults([{ kind: 'timeout', acts: true, match: { times: 1 } }]);
    await left(1);
    expect(b.sandbox.effects().effects).toBe(1);
    expect(b.sandbox.faults().counts).toEqual({ timeout: 2 });
    expect(b.sandbox.requests().filter(({ status }) => status === 0)).toHaveLength(2);
  });

  it('S000-75: a hang has its effect at once and answers late; the repeat of an impatient caller is a replay', async () => {
    const b = await bench({ faults: [{ kind: 'hang', delayMs: 5_000, match: { times: 1 } }] });
    const late = b.send('oc_1', 1, { uuid: 'key-1' });
    await vi.waitFor(() => expect(b.time.pending).toBe(1));
    expect(b.sandbox.effects().effects).toBe(1);

    const repeat = await b.send('oc_1', 1, { uuid: 'key-1' });
    b.time.advance(5_000);
    expect((await late).json.data).toEqual(repeat.json.data);
    expect(b.sandbox.effects().effects).toBe(1);
  });

  it('a hang that acts late answers a repeat as in flight, and acts although its caller has gone', async () => {
    const b = await bench({ faults: [{ kind: 'hang', delayMs: 5_000, actsLate: true, match: { times: 1 } }] });
    const caller = new AbortController();
    const late = b.send('oc_1', 1, { uuid: 'key-1', signal: caller.signal });
    await vi.waitFor(() => expect(b.time.pending).toBe(1));

    expect((await b.send('oc_1', 1, { uuid: 'key-1' })).json.code).toBe(230049);
    caller.abort();
    await expect(late).rejects.toThrow(/abort/);
    b.time.advance(5_000);
    expect(b.sandbox.effects().effects).toBe(1);
    expect((await b.send('oc_1', 1, { uuid: 'key-1' })).json.code).toBe(0);
    expect(b.sandbox.effects().effects).toBe(1);
  });

  it('a reset before the effect leaves nothing; one after it leaves the effect, which a uuid finds again', async () => {
    const b = await bench({
      faults: [
        { kind: 'reset-before', match: { times: 1 } },
        { kind: 'reset-after', match: { times: 1 } },
      ],
    });

    await expect(b.send('oc_1', 1, { uuid: 'key-1' })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(b.sandbox.effects().effects).toBe(0);
    await expect(b.send('oc_1', 1, { uuid: 'key-1' })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(b.sandbox.effects().effects).toBe(1);
    expect((await b.send('oc_1', 1, { uuid: 'key-1' })).json.code).toBe(0);
    expect(b.sandbox.verdict({ calls: 1 })).toMatchObject({ effects: 1, twice: 0, missing: 0 });
  });

  it('S000-77: refusals carry the seconds until the reset, at 429 and at 400, and have no effect', async () => {
    const b = await bench({ faults: [{ kind: '429', resetSeconds: 3 }] });
    const refused = await b.send('oc_1', 1);
    expect(refused).toMatchObject({ status: 429, json: { code: 99991400 }, headers: { 'x-ogw-ratelimit-reset': '3' } });

    b.sandbox.setFaults([{ kind: '400-99991400', resetSeconds: 0 }]);
    const bare = await b.send('oc_1', 1);
    expect(bare).toMatchObject({ status: 400, json: { code: 99991400 } });
    expect(bare.headers).not.toHaveProperty('x-ogw-ratelimit-reset');
    expect(b.sandbox.effects().effects).toBe(0);
  });

  it('S000-76: a 503 has an empty body, JSON or a page, and Retry-After when asked for', async () => {
    const b = await bench({ faults: [{ kind: '503' }] });
    const empty = await b.send('oc_1', 1);
    expect(empty).toMatchObject({ status: 503, text: '', headers: { 'content-length': '0' } });
    expect(empty.headers).not.toHaveProperty('retry-after');

    b.sandbox.setFaults([{ kind: '503', body: 'json', retryAfterSeconds: 2 }]);
    expect(await b.send('oc_1', 1)).toMatchObject({
      status: 503,
      json: { code: 2200 },
      headers: { 'retry-after': '2' },
    });
    b.sandbox.setFaults([{ kind: '503', body: 'html' }]);
    expect((await b.send('oc_1', 1)).text).toContain('<h1>503 Service Unavailable</h1>');
  });

  it.each([
    [{ kind: '502-html' }, 502, {}],
    [{ kind: 'quota' }, 429, { code: 99991403 }],
    [{ kind: 'status', status: 504 }, 504, {}],
    [{ kind: 'code', code: 230002 }, 400, { code: 230002 }],
    [{ kind: 'code', code: 1254290, status: 200, msg: 'too many' }, 200, { code: 1254290, msg: 'too many' }],
  ])('%j answers %i with %j and has no effect', async (rule, status, json) => {
    const b = await bench();
    expect(b.sandbox.setFaults([rule])).toEqual([]);

    expect(await b.send('oc_1', 1)).toMatchObject({ status, json });
    expect(b.sandbox.effects().effects).toBe(0);
  });

  it('a slow drip sends the true answer piece by piece', async () => {
    const b = await bench({ faults: [{ kind: 'slow-drip', pieceBytes: 100, delayMs: 1_000 }] });
    let isDone = false;
    const slow = b.send('oc_1', 1).finally(() => (isDone = true));
    await vi.waitFor(() => expect(b.time.pending).toBe(1));
    b.time.advance(1_000);
    expect(b.time.pending).toBe(1);
    expect(isDone).toBe(false);

    b.time.advance(60_000);
    expect((await slow).json).toMatchObject({ code: 0, data: { chat_id: 'oc_1' } });
    expect(b.sandbox.effects().effects).toBe(1);
  });

  it('a revoked token is refused from then on, and the next one works', async () => {
    const b = await bench({ faults: [{ kind: 'token-revoked', match: { times: 1 } }] });
    const dead = b.token;

    expect((await b.send('oc_1', 1)).json.code).toBe(99991663);
    expect((await b.send('oc_1', 1)).json.code).toBe(99991663);
    await b.signIn();
    expect(b.token).not.toBe(dead);
    expect((await b.send('oc_1', 1)).json.code).toBe(0);
  });

  it('leaves token endpoints, health and its own controls alone unless a rule names their path', async () => {
    const b = await bench({ faults: [{ kind: '503' }] });
    expect((await b.signIn()).status).toBe(200);
    expect((await b.ask('/health')).status).toBe(200);
    expect((await b.ask('/echo/x')).status).toBe(503);

    b.sandbox.setFaults([{ kind: '503', match: { path: '/' } }]);
    expect((await b.signIn()).status).toBe(503);
    expect((await b.ask('/health')).status).toBe(503);
    expect((await b.ask('/_sandbox/stats')).status).toBe(200);
  });
});
