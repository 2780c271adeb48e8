import { of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { adminRoutes, type AdminOptions } from '../../../../src/adapters/http/admin-routes.ts';
import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { LarkspurError } from '../../../../src/model/errors.ts';
import { httpAsk } from '../../../support/http-ask.ts';

import { start } from './serving.ts';

const serve = (options: Partial<AdminOptions> = {}, token?: string) =>
  start(
    adminRoutes({
      metrics: createMetrics({ processMetrics: false }),
      readiness: () => [],
      status: () => ({ partitions: 12 }),
      health: () => [{ state: 'healthy' }],
      tail: (topic, last) => of([{ topic, last }]),
      ...options,
    }),
    { name: 'admin', token },
  );

describe('the admin doors', () => {
  it('answer the probes to anybody, and the rest only with the token', async () => {
    const port = await serve({}, 'letmein');
    const paths = ['/livez', '/readyz', '/metrics', '/admin/status', '/admin/topics/calls/tail'];

    const without = await Promise.all(paths.map(async (path) => (await httpAsk(port, path)).status));
    expect(without).toEqual([200, 200, 401, 401, 401]);
    const headers = { authorization: 'Bearer letmein' };
    const withToken = await Promise.all(paths.map(async (path) => (await httpAsk(port, path, { headers })).status));
    expect(withToken).toEqual([200, 200, 200, 200, 200]);
  });

  it('say what is missing while not ready, and turn good when it is there', async () => {
    let kafka = false;
    const port = await serve({
      readiness: () => [
        { name: 'kafka', ready: kafka, ...(kafka ? {} : { reason: 'no broker answers at kafka:9092' }) },
        { name: 'redis', ready: true },
      ],
    });

    const before = await httpAsk(port, '/readyz');
    expect([before.status, before.json()]).toEqual([
      503,
      {
        status: 'not ready',
        checks: [
          { name: 'kafka', ready: false, reason: 'no broker answers at kafka:9092' },
          { name: 'redis', ready: true },
        ],
      },
    ]);
    expect((await httpAsk(port, '/livez')).status).toBe(200);
    kafka = true;
    expect((await httpAsk(port, '/readyz')).status).toBe(200);
  });

  it('S000-38, S000-39: show the retry counter and histogram on /metrics in the format of Prometheus', async () => {
    const metrics = createMetrics({ processMetrics: false });
    metrics
      .counter('service_retry_total', 'Retries', ['service', 'status_code', 'error_type'])
      .add({ service: 'feishu', status_code: '503', error_type: 'http_503' }, 3);
    metrics
      .histogram('service_retry_latency_seconds', 'Latency', ['service', 'attempt_number'], [1])
      .observe({ service: 'feishu', attempt_number: '1' }, 0.2);
    const { headers, text } = await httpAsk(await serve({ metrics }), '/metrics');

    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('service_retry_total{service="feishu",status_code="503",error_type="http_503"} 3\n');
    expect(text).toContain('service_retry_latency_seconds_count{service="feishu",attempt_number="1"} 1\n');
  });

  it('show the status of the process', async () => {
    expect((await httpAsk(await serve(), '/admin/status')).json()).toEqual({ partitions: 12 });
  });

  it('show the last records of a topic, 10 unless told', async () => {
    const port = await serve();
    const tail = async (query: string) => (await httpAsk(port, `/admin/topics/retry.10s/tail${query}`)).json();

    expect(await tail('')).toEqual({ topic: 'retry.10s', records: [{ topic: 'retry.10s', last: 10 }] });
    expect(await tail('?last=1000')).toMatchObject({ records: [{ last: 1_000 }] });
  });

  it.each(['0', '1001', '-1', '1.5', 'all', '', '99999999999999999999'])('refuse last=%s', async (last) => {
    const answer = await httpAsk(await serve(), `/admin/topics/calls/tail?last=${last}`);

    expect([answer.status, answer.json()]).toEqual([
      400,
      expect.objectContaining({ faults: [{ at: 'last', message: 'must be a whole number from 1 to 1000' }] }),
    ]);
  });

  it('answer 404 to a topic that is none of ours', async () => {
    const unknown = new LarkspurError('not_found', 'There is no topic nonsense');
    const port = await serve({ tail: () => throwError(() => unknown) });

    expect((await httpAsk(port, '/admin/topics/nonsense/tail')).status).toBe(404);
  });
});
