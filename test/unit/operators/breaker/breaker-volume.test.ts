import { describe, expect, it } from 'vitest';

import { SlidingWindow } from '../../../../src/operators/index.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

import { Bench } from './support.ts';

describe('Breaker, at volume', () => {
  it('S000-44: takes 10 million records at less than 200 ns each without growing', () => {
    const window = new SlidingWindow({ windowMs: 60_000, buckets: 60 });
    const run = (records: number): void => {
      for (let i = 0; i < records; i++) window.record(i / 100, i % 100 === 0, false);
    };
    run(100_000);
    const heapBytes = process.memoryUsage().heapUsed;
    // Time of this process, not of the clock on the wall: other suites run beside this one.
    const startedUs = process.cpuUsage().user;
    run(10_000_000);
    const nsPerRecord = (process.cpuUsage().user - startedUs) / 10_000;
    const grownBytes = process.memoryUsage().heapUsed - heapBytes;

    // A ring that kept (time, status) of each call of a window would hold 96 MB here.
    expect(grownBytes).toBeLessThan(8 * 1024 * 1024);
    expect(nsPerRecord).toBeLessThan(200);
  });

  it('S000-45: decides at least a million times per second', () => {
    const { breaker } = new Bench();
    const decide = (times: number): void => {
      for (let i = 0; i < times; i++) {
        const permit = breaker.acquire(i / 10);
        if (permit.kind === 'permit') breaker.record(permit, i / 10, i % 100 === 0, 50);
      }
    };
    decide(100_000);
    const startedUs = process.cpuUsage().user;
    decide(1_000_000);

    expect(process.cpuUsage().user - startedUs).toBeLessThan(1_000_000);
  });

  it('S000-45: never opens at 10,000 calls per second with 1 % noise, for a minute', () => {
    const random = seededRandom(45);
    const { breaker } = new Bench({}, random);
    let refused = 0;
    for (let i = 0; i < 600_000; i++) {
      const permit = breaker.acquire(i / 10);
      if (permit.kind === 'refused') refused++;
      else breaker.record(permit, i / 10, random.next() < 0.01, 50);
    }

    expect([refused, breaker.snapshot(60_000).openings]).toEqual([0, 0]);
  });
});
