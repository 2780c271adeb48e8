import { describe, expect, it } from 'vitest';

import { apiHealth } from '../../../src/pipeline/health/api-health.ts';
import { news, read } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('/admin/api-health', () => {
  it('tells a sick upstream from a well one, with its breaker and its last error', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: {}, news: { breaker: { consecutiveFailures: 3, minCalls: 3 } } },
    });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    for (let n = 0; n < 6; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.call(read('r'), 'k');
    bench.run(1_000);
    const [feishu, sick] = apiHealth(house);
    expect(feishu).toMatchObject({ name: 'feishu', state: 'healthy', lastError: undefined });
    expect(sick).toMatchObject({
      name: 'news',
      state: 'down',
      lastError: { status: 503 },
      breakers: [{ state: 'open' }],
    });
    bench.upstream('news').script = () => ({});
    bench.run(120_000);
    // Recovery is proved by calls.
    for (let n = 0; n < 20; n++) {
      bench.call(news(`after-${n}`), `k-${n}`);
      bench.run(1_000);
    }
    expect(apiHealth(house)[1]).toMatchObject({ state: 'healthy', lastError: undefined });
  });

  it('calls an upstream unhealthy that fails often and is still called', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: 'off', breaker: { failureRatio: 0.9 } } } });
    let n = 0;
    bench.upstream('news').script = () => (n++ % 2 === 0 ? { status: 503 } : {});
    const { house } = bench.start();
    for (let i = 0; i < 10; i++) bench.call(news(`n-${i}`), `k-${i}`);
    bench.run(500);
    expect(apiHealth(house)[0]).toMatchObject({ name: 'news', state: 'unhealthy' });
  });
});
