import { describe, expect, it, onTestFinished } from 'vitest';

import { openLiveHouse } from '../../support/live-house.ts';

const count = 4;

/** Value of a sample of the metrics page. */
const valueOf = (page: string, sample: string): number | undefined => {
  const line = page.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
};

describe('retries on /metrics, against what the sandbox saw', () => {
  it('S000-38, S000-39: the counter is the number of repeats, the histogram has them by their number', async () => {
    const house = await openLiveHouse({
      raw: (url) => ({
        upstreams: {
          news: { baseUrl: `${url}/echo`, breaker: 'off', retry: { baseMs: 5, floorMs: 1, jitter: 'equal' } as never },
        },
      }),
    });
    onTestFinished(() => house.close());
    // A call at a time, so that the faults in a row meet the same call: 0, 1, 2 and 3 of them.
    for (let n = 0; n < count; n++) {
      house.sandbox.setFaults([{ kind: '503', match: { times: n } }].filter(({ match }) => match.times > 0));
      await house.produce([[{ id: `n-${n}`, upstream: 'news', method: 'GET', path: `/a/${n}` }, null]]);
      await house.ended(n + 1);
    }

    const repeats = house.sandbox.stats().arrivals - count;
    expect(repeats).toBe(1 + 2 + 3);
    const page = await house.metrics.text();
    expect(page.match(/^service_retry_total\{.*$/gm)).toEqual([
      `service_retry_total{service="news",status_code="503",error_type="server_error"} ${repeats}`,
    ]);
    const repeated = (number: number): number | undefined =>
      valueOf(page, `service_retry_latency_seconds_count{service="news",attempt_number="${number}"}`);
    expect([1, 2, 3, 4].map(repeated)).toEqual([3, 2, 1, undefined]);
    const last = '_bucket{le="+Inf",service="news",attempt_number="3"}';
    expect(valueOf(page, `service_retry_latency_seconds${last}`)).toBe(1);
    expect(valueOf(page, 'service_retry_latency_seconds_sum{service="news",attempt_number="1"}')).toBeGreaterThan(0);
  });
});
