import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { never } from '../../../src/config/compile-breaker.ts';
import type { UpstreamConfig } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { Breaker } from '../../../src/operators/breaker/breaker.ts';
import type { BreakerOptions } from '../../../src/operators/breaker/options.ts';
import { RetryPlan } from '../../../src/operators/retry/retry-plan.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-presets-'));
afterAll(() => rmSync(folder, { recursive: true }));

function upstream(preset: string, name = 'api'): UpstreamConfig {
  const file = join(folder, `${preset}-${name}.yaml`);
  writeFileSync(file, `upstreams: { ${name}: { preset: ${preset}, baseUrl: "http://api" } }`);
  return loadConfig({ file, env: {} }).config.upstreams[name]!;
}

describe('preset bot', () => {
  const { retry, breaker } = upstream('bot');

  it('S000-24: retry 3 waits 0.4 to 1.2 s, retry 9 and later 15 to 45 s', () => {
    if (retry === 'off') throw new Error('the preset does not retry');
    const waits = (n: number) => [0, 1 - 1e-9].map((chance) => new RetryPlan(retry, { next: () => chance }).delayMs(n));

    expect([waits(3), waits(9), waits(100)]).toEqual([
      [400, 1_199],
      [15_000, 44_999],
      [15_000, 44_999],
    ]);
  });

  it('looks at 60 s, needs more than 200 in flight, cools down for 60 s exactly', () => {
    expect(breaker).toMatchObject({
      windowMs: 60_000,
      mode: 'exact',
      minInFlight: 200,
      coolDownMs: 60_000,
      maxOpenMs: 60_000,
      openJitter: 0,
      consecutiveFailures: never,
    });
  });

  it('closes by way of 5 % of the traffic, at p95 120 ms and success 98 %', () => {
    expect(breaker).toMatchObject({ probes: 100, halfOpenShare: 0.05, closeP95Ms: 120, closeSuccessRatio: 0.98 });
  });

  it('asks the token endpoint of Feishu before, three times in a row within 800 ms, marked as a probe', () => {
    expect(upstream('bot', 'feishu')).toMatchObject({
      breaker: { probesToClose: 3 },
      probe: { path: undefined, withinMs: 800, headers: { 'X-Feishu-Health-Check': 'true' } },
    });
    expect(upstream('bot').probe).toBeUndefined();
  });

  it('opens at 36 % of 100, not at 35 %', () => {
    expect([opensAt(breaker, 35, 100, 201), opensAt(breaker, 36, 100, 201)]).toEqual([false, true]);
  });

  it('opens at 36 % with 201 in flight, not with 200', () => {
    expect([opensAt(breaker, 36, 100, 200), opensAt(breaker, 36, 100, 201)]).toEqual([false, true]);
  });
});

describe('preset sdk', () => {
  const { retry, breaker, fallback } = upstream('sdk');

  it('tries four times in all, 1 s doubling, without jitter, and falls back after the last', () => {
    expect(retry).toMatchObject({ maxAttempts: 4, baseMs: 1_000, jitter: { proportional: 0 } });
    expect(fallback).toMatchObject({ afterAttempts: 3 });
  });

  it('opens at 51 of 100, not at 50, for 60 s', () => {
    expect([opensAt(breaker, 50, 100), opensAt(breaker, 51, 100)]).toEqual([false, true]);
    expect(breaker).toMatchObject({ coolDownMs: 60_000, maxOpenMs: 60_000, openJitter: 0 });
  });
});

describe('preset platform', () => {
  it.each([
    ['weather', 10],
    ['news', 5],
    ['stock', 5],
    ['ip', 10],
    ['other', 5],
  ])('lets %s have %i calls in flight', (name, concurrency) => {
    expect(upstream('platform', name).concurrency).toBe(concurrency);
  });

  it('gives an attempt 3 s and keeps answers for 300 s', () => {
    expect(upstream('platform')).toMatchObject({ timeouts: { attemptMs: 3_000 }, fallback: { cacheTtlMs: 300_000 } });
  });

  it('opens at the fifth failure in a row; a success starts the count anew', () => {
    const { breaker } = upstream('platform');

    expect([opensAt(breaker, 4, 4), opensAt(breaker, 5, 5)]).toEqual([false, true]);
    expect(opensOn(breaker, [...fails(4), true, ...fails(4)])).toBe(false);
  });

  it('is open for 60 s exactly, then one good probe closes it', () => {
    const { breaker } = upstream('platform');

    expect(breaker).toMatchObject({
      coolDownMs: 60_000,
      maxOpenMs: 60_000,
      openJitter: 0,
      probes: 1,
      probesToClose: 1,
      rampFrom: 1,
    });
  });
});

describe('preset gateway', () => {
  it('tries four times in all, 100 ms doubling to 1 s, spread by 30 %', () => {
    expect(upstream('gateway').retry).toMatchObject({
      maxAttempts: 4,
      baseMs: 100,
      capMs: 1_000,
      jitter: { proportional: 0.3 },
    });
  });

  it('gives the service 1 s and the client 3 s', () => {
    expect(upstream('gateway').timeouts).toEqual({ connectMs: 1_000, attemptMs: 1_000, totalMs: 3_000 });
  });

  it('opens at 31 % of 100, not at 30 %, and learns by 1.2 up to 0.7', () => {
    const { breaker } = upstream('gateway');

    expect([opensAt(breaker, 30, 100), opensAt(breaker, 31, 100)]).toEqual([false, true]);
    expect(breaker).toMatchObject({ adaptive: { factor: 1.2, max: 0.7 } });
  });

  it.each([
    ['auth', 50],
    ['route', 200],
  ])('gives %s %i connections', (name, connections) => {
    expect(upstream('gateway', name).connections).toBe(connections);
  });
});

const fails = (count: number): boolean[] => Array.from({ length: count }, () => false);

/** Whether so many failures, spread evenly over so many calls, open the breaker. */
function opensAt(options: BreakerOptions | 'off', failures: number, calls: number, inFlight = 1_000): boolean {
  // Failures come last, so that the share grows towards the end and never was above it before.
  return opensOn(options, [...Array.from({ length: calls - failures }, () => true), ...fails(failures)], inFlight);
}

function opensOn(options: BreakerOptions | 'off', outcomes: readonly boolean[], inFlight = 1_000): boolean {
  if (options === 'off') return false;
  const breaker = new Breaker(options, { next: () => 0 });
  for (const [index, good] of outcomes.entries()) {
    const permit = breaker.acquire(index, inFlight);
    if (!('generation' in permit)) return true;
    breaker.record(permit, index, !good, 1);
  }
  return breaker.snapshot(outcomes.length).state === 'open';
}
