import { describe, expect, it } from 'vitest';

import { httpProbe } from '../../../src/adapters/http/health-probe.ts';
import { partitionFor } from '../../../src/model/partitioner.ts';
import { news } from '../../support/calls.ts';
import { type BenchWorker, PipelineBench } from '../../support/pipeline-bench.ts';
import { sharedBreakerBuses } from '../../support/shared-breaker-bus.ts';

const second = 1_000;
const minute = 60 * second;

/** The n-th of some keys on a partition of four. */
function keyOn(partition: number, n: number): string {
  for (let salt = 0; ; salt++) {
    const key = `k-${n}-${salt}`;
    if (partitionFor(Buffer.from(key), 4) === partition) return key;
  }
}

/** Four workers, each with a partition of its own. */
function fourOn(bench: PipelineBench): BenchWorker[] {
  return Array.from({ length: 4 }, (_, partition) => {
    const member = bench.group.member();
    const worker = bench.start(member);
    bench.group.give(partition, member);
    return worker;
  });
}

/**
 * An outage that begins after a minute. The first replica gets ten times as many calls as the others, so it is the first to know;
 * `others`: how many calls each other one sends into it between that opening and the end of its cool-down.
 */
function outage(hints: boolean) {
  const buses = sharedBreakerBuses();
  const bench = new PipelineBench({
    partitions: 4,
    fleet: buses.next,
    upstreams: { news: { breaker: { hints, coolDownMs: 10 * second, openJitter: 0 } } },
  });
  bench.upstream('news').script = ({ atMs }) => (atMs > minute ? { status: 503, afterMs: 20 } : { afterMs: 20 });
  const workers = fourOn(bench);
  const opened = () =>
    workers[0]?.house.destinations.get('news')?.breakers?.get('news.internal/news').snapshot(bench.time.now()).state;
  const partitionOf = (n: number): number => (n % 13 < 10 ? 0 : (n % 13) - 9);
  let openedMs = NaN;
  for (let n = 0; n < 700; n++) {
    bench.call(news(`n-${n}`), keyOn(partitionOf(n), n));
    for (let ms = 0; ms < 100; ms += 10) {
      bench.run(10);
      if (Number.isNaN(openedMs) && opened() === 'open') openedMs = bench.time.now();
    }
  }
  expect(openedMs).toBeGreaterThan(minute);
  expect(workers.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
  const others = [1, 2, 3].map(
    (other) =>
      bench
        .upstream('news')
        .attempts.filter(({ id, atMs }) => partitionOf(Number(id.slice(2))) === other && atMs > openedMs)
        .filter(({ atMs }) => atMs < openedMs + 8 * second).length,
  );
  return { told: buses.told[0], others };
}

describe('breakers of several workers', () => {
  it('P24: with hints, each other replica sends at most five more failing calls after the first opening, without them more', () => {
    const withHints = outage(true);
    expect(withHints.told).toMatchObject({ kind: 'opened', upstream: 'news' });
    expect(Math.max(...withHints.others)).toBeLessThanOrEqual(5);
    expect(Math.min(...outage(false).others)).toBeGreaterThan(5);
  }, 60_000);

  it('P24: a declared probe runs once for the fleet, and what it shows is known to all', () => {
    const buses = sharedBreakerBuses();
    const probe = httpProbe({ pathPrefix: '', path: '/health', headers: {}, expect: 200, withinMs: 800 });
    const breaker = { consecutiveFailures: 1, openJitter: 0, probesToClose: 3, probes: 3, rampMs: 0 };
    const bench = new PipelineBench({ partitions: 4, fleet: buses.next, upstreams: { news: { probe, breaker } } });
    let down = true;
    bench.upstream('news').script = ({ path }) =>
      path === '/health' ? { status: down ? 503 : 200, afterMs: 40 } : { status: down ? 503 : 200 };
    const workers = fourOn(bench);
    for (let partition = 0; partition < 4; partition++) {
      bench.call(news(`opens-${partition}`, { retry: false }), keyOn(partition, partition));
      bench.run(60);
    }
    const probes = () => bench.upstream('news').attempts.filter(({ path }) => path === '/health').length;
    const states = () =>
      workers.map(({ house }) => {
        const breakers = house.destinations.get('news')?.breakers;
        return breakers?.get('news.internal/news').snapshot(bench.time.now()).state;
      });
    expect(states()).toEqual(['open', 'open', 'open', 'open']);
    bench.run(40 * second);
    // One process alone sends six in forty seconds: at 1, 3, 7, 15, 25 and 35.
    expect(probes()).toBeGreaterThanOrEqual(5);
    expect(probes()).toBeLessThanOrEqual(7);

    down = false;
    bench.run(40 * second);
    expect(probes()).toBeLessThanOrEqual(7 + 5);
    for (let partition = 0; partition < 4; partition++)
      bench.call(news(`back-${partition}`), keyOn(partition, partition));
    bench.run(second);
    expect(bench.results.map(({ id }) => id).filter((id) => id.startsWith('back-'))).toHaveLength(4);
  }, 60_000);
});
