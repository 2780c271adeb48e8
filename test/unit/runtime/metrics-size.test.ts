import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { lastValueFrom, mergeMap, range, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { apiCatalogue } from '../../../src/adapters/feishu/catalogue/apis.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const tenants = 1_000;
const apis = 200;
const mostBytes = 300_000;

/** Labels of the catalogue that need nothing in their path. */
const labels = [...apiCatalogue().all]
  .filter(({ label, tokens, download }) => !label.includes(':') && tokens.includes('tenant') && !download)
  .map(({ label }) => label)
  .slice(0, apis);

/** A whole process, whose calls come for a thousand tenants and two hundred APIs, each tenant with chats of its own. */
describe('/metrics with 1,000 tenants', () => {
  const random = seededRandom(14);
  const platform = createServer((request, response) => {
    request.resume();
    // Each path fails once in a while, so that retries have their series, too.
    const fails = random.next() < 0.05 && request.url?.includes('/auth/') !== true;
    const body = { code: 0, msg: 'ok', tenant_access_token: 't-0123456789abcdef', expire: 7_200 };
    response.writeHead(fails ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  let served: Served;

  let handed = 0;
  /** Hands in so many calls, over all APIs and so many tenants, and waits for their ends. */
  const handIn = async (calls: number, fromTenants: number): Promise<void> => {
    const append$ = (n: number) => {
      const [method, path] = (labels[n % apis] ?? '').split(' ');
      const tenant = `tenant_${n % fromTenants}`;
      const body = { receive_id: `oc_${n}`, chat_id: `oc_${n}` };
      const call = { id: `c-${n}`, method, path, tenant, ...(method === 'GET' ? {} : { body }) };
      const value = Buffer.from(JSON.stringify(call));
      return served.stores.sink.append({ topic: 'calls', key: Buffer.from(tenant), value, headers: [] });
    };
    await lastValueFrom(range(handed, calls).pipe(mergeMap(append$), toArray()));
    handed += calls;
    await expect.poll(() => served.worker?.worker.settled, { timeout: 60_000 }).toBe(handed);
  };
  const page = async (): Promise<string> => (await fetch(`${served.adminUrl}/metrics`)).text();

  beforeAll(async () => {
    platform.listen(0, '127.0.0.1');
    await once(platform, 'listening');
    const files = new ConfigFiles();
    const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s }]
upstreams:
  feishu: { baseUrl: 'http://127.0.0.1:${(platform.address() as AddressInfo).port}', limits: [{ perSecond: 100000 }] }
`);
    served = await serve(config, [], { worker: true, ingress: true });
    files.remove();
  });
  afterAll(async () => {
    await served.stop();
    platform.closeAllConnections();
    platform.close();
  });

  it('stays under 300 kB, names no tenant, chat or call, and hardly larger than with ten', async () => {
    expect(labels).toHaveLength(apis);
    await handIn(3 * apis, 10);
    const few = await page();
    await handIn(3 * tenants, tenants);
    const many = await page();

    expect(many.length).toBeLessThan(mostBytes);
    expect(many.length).toBeLessThan(few.length * 1.1);
    expect(many).not.toMatch(/tenant_\d|oc_\d|c-\d/);
    expect(many).not.toContain('label_overflow"} ');
    expect(many).toContain('larkspur_quota_grants_total');
    expect(new Set(many.match(/bucket="(GET|POST|PUT|PATCH|DELETE) [^"]+"/g)).size).toBeGreaterThanOrEqual(apis);
  }, 120_000);
});
