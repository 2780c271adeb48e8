import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it } from 'vitest';

import { serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';

it('S004-03: calls go to the address that is there, whichever it is, and no caller sees the other one', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    response.end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { orders: { targets: ['http://127.0.0.1:1/v1', 'http://127.0.0.1:${port}/v1'] } }
`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: true });
  try {
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    const call = (n: number) =>
      httpAsk(ingress, '/v1/calls?wait=20s', {
        method: 'POST',
        body: JSON.stringify({ upstream: 'orders', path: `/${n}` }),
      });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => call(n)));

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 200));
    expect(new Set(seen)).toEqual(new Set(Array.from({ length: 40 }, (_, n) => `/v1/${n}`)));
  } finally {
    await served.stop();
    server.close();
  }
}, 60_000);
