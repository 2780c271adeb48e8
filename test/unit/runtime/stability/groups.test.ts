import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it, vi } from 'vitest';

import { serve } from '../../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { only } from '../../../support/only.ts';

interface Scores {
  readonly upstreams: readonly { readonly upstream: string; readonly reading: { readonly waiting: number } }[];
}

it('calls of a group of APIs count for their upstream, in its score and in the graph', async () => {
  const upstream = createServer(() => undefined);
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
drainMs: 0
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  news:
    baseUrl: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}'
    groups: { slow: { paths: ['/slow*'], concurrency: 2 } }
`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: false });
  try {
    for (let i = 0; i < 5; i++) {
      const value = Buffer.from(JSON.stringify({ upstream: 'news', path: `/slow/${i}` }));
      await only(served.stores.sink.append({ topic: 'calls', key: null, value, headers: [] }));
    }
    const ask = async <T>(path: string): Promise<T> =>
      JSON.parse((await httpAsk(Number(new URL(served.adminUrl).port), path)).text) as T;
    await vi.waitFor(
      async () => {
        const { upstreams } = await ask<Scores>('/admin/health-score');
        expect(upstreams.find((one) => one.upstream === 'news')?.reading.waiting).toBe(5);
      },
      { timeout: 20_000, interval: 100 },
    );
    const { nodes } = await ask<{ nodes: { id: string; says: object }[] }>('/admin/stability?from=upstream/news');
    const says = Object.fromEntries(nodes.map((node) => [node.id, node.says]));
    expect(says['lanes/news']).toMatchObject({ calls: 5 });
    expect(says['upstream/news']).toMatchObject({ inFlight: 2 });
  } finally {
    await served.stop();
    upstream.closeAllConnections();
    upstream.close();
  }
}, 60_000);
