import { describe, expect, it } from 'vitest';

import { RedisGuard } from '../../../../src/adapters/redis/guard.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

function build(): { guard: RedisGuard; time: VirtualTime; fail: (times: number) => void } {
  const time = new VirtualTime();
  const guard = new RedisGuard(time);
  const fail = (times: number): void => {
    for (let i = 0; i < times; i++) guard.failed();
  };
  return { guard, time, fail };
}

describe('RedisGuard', () => {
  it('lets everybody ask while fewer than three errors came in a row', () => {
    const { guard, fail } = build();
    fail(2);
    expect(guard.admit()).toBe(0);
    guard.succeeded();
    fail(2);
    expect(guard.admit()).toBe(0);
    expect(guard.degraded).toBe(false);
  });

  it('lets nobody ask for two seconds after the third error, to the millisecond', () => {
    const { guard, time, fail } = build();
    fail(3);
    expect(guard.degraded).toBe(true);
    expect(guard.admit()).toBe(2_000);
    time.advance(1_999);
    expect(guard.admit()).toBe(1);
    time.advance(1);
    expect(guard.admit()).toBe(0);
  });

  it('lets one probe through after that, and no other until it is answered', () => {
    const { guard, time, fail } = build();
    fail(3);
    time.advance(2_000);
    expect(guard.admit()).toBe(0);
    expect(guard.admit()).toBeGreaterThan(0);
    guard.succeeded();
    expect(guard.degraded).toBe(false);
    expect([guard.admit(), guard.admit()]).toEqual([0, 0]);
  });

  it('waits another two seconds when the probe fails', () => {
    const { guard, time, fail } = build();
    fail(3);
    time.advance(2_000);
    guard.admit();
    guard.failed();
    expect(guard.admit()).toBe(2_000);
    time.advance(2_000);
    expect(guard.admit()).toBe(0);
  });

  it('trusts a new connection at once', () => {
    const { guard, fail } = build();
    fail(10);
    guard.succeeded();
    expect(guard.admit()).toBe(0);
  });
});
