import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createClient } from '../../src/client.ts';

/** A client of an ingress that answers everything the same. */
async function clientOf(status: number, answer: object) {
  const server = createServer((request, response) => {
    request.resume();
    response.statusCode = status;
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

describe('createClient', () => {
  it('resolves with the result', async () => {
    const client = await clientOf(200, { id: 'a', status: 'ok' });
    expect(await client.call({ path: '/x' })).toEqual({ id: 'a', status: 'ok' });
  });

  it.each([
    [400, { code: 'bad_request' }, 'call_invalid'],
    [413, { code: 'record_too_large' }, 'call_invalid'],
    [422, { code: 'call_invalid' }, 'call_invalid'],
    [401, { code: 'unauthorized' }, 'unauthorized'],
    [403, { code: 'forbidden' }, 'forbidden'],
    [502, { from: 'a proxy' }, 'internal'],
  ])('rejects an answer %d %j with %s, and without an id nothing says that it may be repeated', async (...row) => {
    const [status, answer, code] = row;
    const client = await clientOf(status, answer);
    await expect(client.call({ path: '/x' })).rejects.toMatchObject({ code, retryable: false });
  });

  it.each([
    [202, { status: 'accepted' }, 'timed_out'],
    [504, { code: 'timed_out' }, 'timed_out'],
    [503, { code: 'sink_unavailable' }, 'sink_unavailable'],
    [503, { code: 'upstream_unavailable' }, 'upstream_unavailable'],
  ])('lets a call that may be stored after %d %j be repeated under its own id alone', async (status, answer, code) => {
    const client = await clientOf(status, answer);
    await expect(client.call({ path: '/x' })).rejects.toMatchObject({ code, retryable: false });
    await expect(client.call({ id: 'a', path: '/x' })).rejects.toMatchObject({ code, retryable: true });
  });

  it.each([true, false])('says of one without an answer what the ingress says: repeatable %s', async (repeatable) => {
    const client = await clientOf(503, { code: 'no_answer', repeatable });
    await expect(client.call({ id: 'a', path: '/x' })).rejects.toMatchObject({
      code: 'no_answer',
      retryable: repeatable,
    });
  });

  it('lets a client that was too fast hand the call in again later', async () => {
    const client = await clientOf(429, { code: 'rate_limited' });
    await expect(client.call({ path: '/x' })).rejects.toMatchObject({ code: 'rate_limited', retryable: true });
  });

  it.each(['localhost:8080', 'ingress', ''])('tells that "%s" is no address', async (url) => {
    await expect(createClient({ url }).call({ path: '/x' })).rejects.toMatchObject({
      code: 'config_invalid',
      cure: 'write it like http://127.0.0.1:8080',
    });
  });
});
