import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, it } from 'vitest';

import { post } from '../../../../src/adapters/system/post.ts';

const server = createServer();
afterEach(() => {
  server.removeAllListeners('request');
  server.close();
});

it('of an answer that has no end the beginning is read, and the connection ends', async () => {
  const closed = new Promise((resolve) => {
    server.on('request', (_request, response) => {
      response.once('close', resolve);
      response.on('error', () => undefined);
      response.writeHead(200);
      const more = (): void => {
        let wanted = true;
        while (wanted) wanted = response.write('x'.repeat(64 * 1_024));
      };
      response.on('drain', more);
      more();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  expect(await post(`http://127.0.0.1:${port}`, '{}', {}, 2_000)).toEqual({ status: 200, body: 'x'.repeat(10_000) });
  await closed;
});
