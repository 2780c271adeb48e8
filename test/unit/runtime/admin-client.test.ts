import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { loadConfig } from '../../../src/config/load.ts';
import { adminAddress, askAdmin, askEach, askMetrics } from '../../../src/runtime/admin-client.ts';

/** An address that answers everything the same. */
async function answering(status: number, text: string): Promise<string> {
  const server = createServer((_, response) => {
    response.statusCode = status;
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Nobody may listen there.
const gone = 'http://127.0.0.1:1';
const question = { path: '/admin/status' };
const { config } = loadConfig({ env: {}, flags: { data: 'memory', admin: '127.0.0.1:1' } });

describe('asking several workers', () => {
  it('gives what those answer that are there', async () => {
    const urls = [gone, await answering(200, '{"n":1}'), await answering(200, '{"n":2}')];
    const { answers, refusal, absence } = await askEach(config, urls, question);
    expect([answers, refusal]).toEqual([[{ n: 1 }, { n: 2 }], undefined]);
    expect(absence).toMatchObject({ code: 'not_found', retryable: true });
  });

  it('tells a refusal apart from an absence, whichever comes first', async () => {
    const refusing = await answering(401, '{"code":"unauthorized","detail":"no token"}');
    const { answers, refusal, absence } = await askEach(config, [gone, refusing], question);
    expect(answers).toEqual([]);
    expect(refusal).toMatchObject({ code: 'unauthorized', message: 'no token' });
    expect(absence).toMatchObject({ code: 'not_found' });
  });

  it('asks the configured one when none is named', async () => {
    expect((await askEach(config, [], question)).absence?.message).toContain(
      'no process answers at http://127.0.0.1:1',
    );
  });
});

describe('the configured admin port', () => {
  it('is found by an IPv6 address, too', () => {
    const ipv6 = loadConfig({ env: {}, flags: { data: 'memory', admin: '[::1]:9464' } });
    expect(adminAddress(ipv6.config).url).toBe('http://[::1]:9464');
  });
});

describe('an address that is none', () => {
  it.each(['worker-1', 'worker-1:9464', 'ftp://worker-1', ''])(
    'like "%s" is told as such, with an example',
    async (url) => {
      const address = { url, token: undefined };
      await expect(askAdmin(address, question)).rejects.toMatchObject({
        code: 'config_invalid',
        message: `--url "${url}" is no address of an admin port`,
        cure: 'write it like http://worker-1:9464',
      });
    },
  );
});

describe('something else behind the address of an admin port', () => {
  it.each([
    [200, '<html>welcome</html>'],
    [502, '<html>bad gateway</html>'],
    [404, '"no"'],
    [200, 'null'],
    [200, '[]'],
  ])('that answers %d with %s is told as such, with a cure', async (status, text) => {
    const url = await answering(status, text);
    const told = { code: 'internal', message: `${url} answered HTTP ${status} and not as an admin port does` };
    await expect(askAdmin({ url, token: undefined }, question)).rejects.toMatchObject({
      ...{ ...told, cure: expect.stringContaining('--url') as string },
    });
  });

  it('is not told to need a token when it has no metrics', async () => {
    const url = await answering(404, 'no');
    await expect(askMetrics({ url, token: undefined })).rejects.toMatchObject({ code: 'internal' });
    const closed = { url: await answering(401, 'no'), token: undefined };
    await expect(askMetrics(closed)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
