import { describe, expect, it } from 'vitest';

import { groupDefaults, tuningFor } from '../../../../src/adapters/kafka/life.ts';

describe('tuningFor', () => {
  it('is the default for the default session', () => {
    expect({ ...groupDefaults, ...tuningFor(30_000) }).toEqual(groupDefaults);
  });

  it.each([6_000, 45_000, 300_000])(
    'keeps six heartbeats in a session of %i ms, and joins shorter than the watchdog',
    (ms) => {
      const tuning = { ...groupDefaults, ...tuningFor(ms) };
      expect(tuning.heartbeatMs * 6).toBeLessThanOrEqual(ms);
      expect(tuning.rebalanceTimeoutMs).toBeLessThan(tuning.watchdogMs);
      expect(tuning.watchdogMs).toBeGreaterThan(ms);
    },
  );
});
