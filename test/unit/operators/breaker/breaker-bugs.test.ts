import { describe, expect, it } from 'vitest';

import { Bench } from './support.ts';

// Failures that were reported against other circuit breakers; each must not happen here.
describe('Breaker, bugs seen elsewhere', () => {
  it('a late success from before the outage does not close it (opossum 9)', () => {
    const bench = new Bench();
    const late = Array.from({ length: 10 }, () => bench.permit());
    bench.openAndWait();
    bench.permit();
    for (const permit of late) bench.breaker.record(permit, bench.nowMs, false, 5_000);

    expect(bench.state).toBe('half-open');
  });

  it('a lost probe does not keep it half-open (resilience4j #544 #903 #935, opossum #57 #276)', () => {
    const bench = new Bench();
    bench.openAndWait();
    bench.permit(); // never ends
    bench.successes(3);
    bench.failures(1);
    expect(bench.refused()).toBe(true);

    bench.nowMs += 15_000;
    bench.successes(4);
    expect(bench.state).toBe('ramp');
  });

  it('nothing acts by itself after a state has gone: no timer exists (resilience4j #991 #2034, opossum #385)', () => {
    const bench = new Bench();
    bench.openAndWait();
    bench.nowMs += 3_600_000;

    expect(bench.state).toBe('open');
    expect(bench.untilMs).toBeUndefined();
  });

  it('old failures do not weigh after recovery (resilience4j #39 #547, opossum 9)', () => {
    const bench = new Bench();
    bench.successes(30);
    bench.toRamp();
    bench.nowMs += 3_000;
    bench.successes(3);
    bench.failures(1);

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'closed', calls: 4, failures: 1 });
  });

  it('a cancelled probe neither closes it nor counts (Polly #311 #717, resilience4j #682)', () => {
    const bench = new Bench({ probes: 1, probesToClose: 1 });
    bench.openAndWait();
    bench.breaker.release(bench.permit());

    expect(bench.state).toBe('half-open');
    expect(bench.refused()).toBe(false);
  });

  it('refusals do not thin out the failure ratio (opossum 9)', () => {
    const bench = new Bench();
    bench.openAndWait();
    bench.nowMs -= 1;
    for (let i = 0; i < 1_000; i++) bench.breaker.acquire(bench.nowMs);

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ calls: 0, failures: 0, refusals: 1_000 });
  });

  it('a permit ends once: what comes second changes nothing', () => {
    const bench = new Bench();
    bench.openAndWait();
    const probe = bench.permit();
    bench.breaker.record(probe, bench.nowMs, false, 10);
    bench.breaker.release(probe);
    bench.breaker.record(probe, bench.nowMs, false, 10);
    for (let i = 0; i < 4; i++) bench.permit();

    expect(bench.refused()).toBe(true);
    expect(bench.state).toBe('half-open');
  });

  it('a thousand openings overflow neither the stack nor the wait (resilience4j #2038, Polly #2163)', () => {
    const bench = new Bench({ maxOpenMs: 10_000 });
    bench.failures(15);
    for (let round = 0; round < 2_000; round++) {
      bench.nowMs = bench.untilMs ?? 0;
      bench.failures(2);
    }

    expect((bench.untilMs ?? 0) - bench.nowMs).toBe(10_000);
  });

  it('a clock that steps back 5 s neither opens it nor empties its window (resilience4j)', () => {
    const bench = new Bench();
    bench.nowMs = 100_000;
    bench.successes(19);
    bench.nowMs = 95_000;
    bench.failures(1);

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'closed', calls: 20, failures: 1 });
  });

  it('failures of an hour ago do not trip it (cockatiel: one bucket per call)', () => {
    const bench = new Bench({ consecutiveFailures: 100 });
    for (let i = 0; i < 19; i++) {
      bench.failures(1);
      bench.nowMs += 1_000;
    }
    bench.nowMs += 3_600_000;
    bench.failures(1);

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'closed', calls: 1 });
  });
});
