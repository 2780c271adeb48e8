import { describe, expect, it, vi } from 'vitest';

import { createSandbox } from '../../../src/sandbox/sandbox.ts';

import { type Bench, bench } from './client.ts';

const upload = (b: Bench, parts: Record<string, string>) => {
  const boundary = 'xXx';
  const body = Object.entries(parts).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="a.bin"' : ''}\r\n\r\n${value}\r\n`,
  );
  return b.call('/open-apis/im/v1/files', {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'x-request-id': 'r1' },
    body: `${body.join('')}--${boundary}--\r\n`,
  });
};

describe('sandbox APIs', () => {
  it('answers users by repeated parameter, leaves out those outside the range, and takes at most 50', async () => {
    const b = await bench();
    const path = (ids: string[]) => `/open-apis/contact/v3/users/batch?${ids.map((id) => `user_ids=${id}`).join('&')}`;

    const two = await b.call(path(['ou_1', 'ou_missing', 'ou_2']));
    expect(two.json.data?.['items']).toMatchObject([{ open_id: 'ou_1' }, { open_id: 'ou_2' }]);
    expect((await b.call(path(Array.from({ length: 51 }, (_, i) => `ou_${i}`)))).json.code).toBe(99992402);
    expect((await b.call(path([]))).json.code).toBe(99992402);
    expect((await b.call('/open-apis/contact/v3/users/ou_7')).json.data).toMatchObject({ user: { open_id: 'ou_7' } });
    expect((await b.call('/open-apis/contact/v3/users/ou_missing')).json.code).toBe(41050);
    expect(b.sandbox.effects().effects).toBe(0);
  });

  it('stores an uploaded file, and stores it twice when sent twice: there is no key for it', async () => {
    const b = await bench();
    const parts = { file_type: 'stream', file_name: 'a.bin', file: 'line one\r\nline two' };
    const first = await upload(b, parts);

    expect(first.json.data?.['file_key']).toMatch(/^file_v3_/);
    expect((await upload(b, parts)).json.data?.['file_key']).not.toBe(first.json.data?.['file_key']);
    expect(b.sandbox.verdict({ calls: 1 })).toMatchObject({ effects: 2, twice: 1 });
    expect((await upload(b, { ...parts, file: '' })).json.code).toBe(234010);
    expect((await upload(b, { ...parts, file_type: 'exe' })).json.code).toBe(234001);
    expect((await upload(b, { file_type: 'stream', file_name: 'a.bin' })).json.code).toBe(234001);
  });

  it('refuses a record without fields with HTTP 200, as bitable does', async () => {
    const b = await bench();
    const reply = await b.call('/open-apis/bitable/v1/apps/b/tables/t/records', { method: 'POST', body: {} });

    expect(reply).toMatchObject({ status: 200, json: { code: 1254001 } });
  });

  it('echoes any method without a token, hides credentials, and counts what is no read as an effect', async () => {
    const b = await bench();
    const echoed = await b.ask('/echo/news/today?lang=en&tag=a&tag=b', {
      method: 'PUT',
      body: { key: 'K', n: 4 },
      headers: { 'x-retry-count': '2', authorization: 'Bearer secret' },
    });

    expect(echoed.json).toMatchObject({
      method: 'PUT',
      path: '/echo/news/today',
      query: { lang: 'en', tag: ['a', 'b'] },
      headers: { 'x-retry-count': '2', authorization: '***' },
      body: { key: 'K', n: 4 },
    });
    await b.ask('/echo/news/today');
    expect(b.sandbox.effects()).toMatchObject({ effects: 1, last: [{ api: 'echo', key: 'K', n: 4 }] });
  });

  it('echoes after the delay it was asked for', async () => {
    const b = await bench();
    let isDone = false;
    const slow = b.ask('/echo/slow?delayMs=3000').then(() => (isDone = true));
    await vi.waitFor(() => expect(b.time.pending).toBe(1));
    b.time.advance(2_999);
    await b.ask('/echo/quick');
    expect(isDone).toBe(false);

    b.time.advance(1);
    await expect(slow).resolves.toBe(true);
  });

  it('knows its health, refuses unknown paths, and shows requests without their tokens', async () => {
    const b = await bench();
    expect((await b.ask('/health')).json).toEqual({ status: 'ok' });
    expect(await b.call('/open-apis/nope/v1')).toMatchObject({ status: 404, json: { code: 99991201 } });
    await b.send('oc_1', 1, { headers: { 'x-request-id': 'r1', 'x-retry-count': '0', traceparent: '00-1-2-01' } });

    const { requests } = (await b.ask('/_sandbox/requests?last=1')).json as { requests?: unknown[] };
    expect(requests).toMatchObject([
      {
        method: 'POST',
        path: '/open-apis/im/v1/messages',
        app: 'cli_a1',
        status: 200,
        headers: { 'x-request-id': 'r1', 'x-retry-count': '0', traceparent: '00-1-2-01' },
      },
    ]);
    expect(JSON.stringify(requests)).not.toContain(b.token);
    expect(b.sandbox.stats()).toMatchObject({ arrivals: 4, tokensIssued: 1, byStatus: { 200: 3, 404: 1 } });
    expect(b.sandbox.stats().connections.open).toBeGreaterThan(0);
  });

  it('says which port is taken, and what is wrong with its options', async () => {
    const b = await bench();

    await expect(createSandbox({ port: b.sandbox.port })).rejects.toMatchObject({ code: 'port_in_use' });
    await expect(createSandbox({ settings: { latencyMs: -1 } })).rejects.toMatchObject({ code: 'config_invalid' });
    await expect(createSandbox({ faults: [{ kind: 'hang', rate: 2 }] })).rejects.toThrow(/rules\[0\]\.rate/);
  });
});
