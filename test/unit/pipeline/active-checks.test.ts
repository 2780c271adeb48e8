import { describe, expect, it } from 'vitest';

import { httpProbe } from '../../../src/adapters/http/health-probe.ts';
import type { Destination } from '../../../src/pipeline/destination.ts';
import { activeChecks } from '../../../src/pipeline/health/active-checks.ts';
import type { HealthCheck } from '../../../src/pipeline/health/health-state.ts';
import { ScriptedUpstream } from '../../support/scripted-upstream.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const check = (path: string, intervalMs: number): HealthCheck => ({
  probe: httpProbe({ pathPrefix: '', path, headers: {}, expect: 200, withinMs: 3_000 }),
  intervalMs,
  last: undefined,
});

/** Checks of one upstream; `change` gives it another check, as a reload of the configuration does. */
function checking(health: HealthCheck) {
  const time = new VirtualTime();
  const upstream = new ScriptedUpstream(time);
  const destination: { upstream: typeof upstream; health: HealthCheck | undefined } = { upstream, health };
  let look = (_destination: Destination): void => undefined;
  const running = activeChecks({
    clock: time,
    timers: time,
    eachDestination: (each) => {
      look = each;
      look(destination as unknown as Destination);
      return () => undefined;
    },
  }).subscribe();
  const change = (next: HealthCheck | undefined): void => {
    destination.health = next;
    look(destination as unknown as Destination);
  };
  const asked = () => upstream.attempts.map(({ atMs, path }) => `${atMs} ${path}`);
  return { time, upstream, change, asked, running };
}

describe('the health check of an upstream', () => {
  it('that is replaced asks at once, at its own interval from then on, and the one before never again', () => {
    const { time, change, asked } = checking(check('/old', 60_000));
    time.advance(1_000);
    change(check('/new', 5_000));
    time.advance(120_000);

    expect(asked().slice(0, 4)).toEqual(['0 /old', '1000 /new', '6000 /new', '11000 /new']);
    expect(asked().filter((one) => one.endsWith('/old'))).toHaveLength(1);
  });

  it('that is looked at again unchanged keeps its rhythm', () => {
    const health = check('/same', 10_000);
    const { time, change, asked } = checking(health);
    time.advance(4_000);
    change(health);
    time.advance(6_000);

    expect(asked()).toEqual(['0 /same', '10000 /same']);
  });

  it('that is taken away or replaced while it asks is not waited for', () => {
    const { time, upstream, change, asked, running } = checking(check('/old', 60_000));
    upstream.script = () => ({ hang: true });
    time.advance(60_000);
    change(check('/new', 5_000));
    expect([upstream.aborted, asked()]).toEqual([1, ['0 /old', '60000 /old', '60000 /new']]);
    change(undefined);
    expect([upstream.aborted, time.pending]).toEqual([2, 0]);
    running.unsubscribe();
  });
});
