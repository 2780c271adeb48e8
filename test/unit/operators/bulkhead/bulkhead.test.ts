import { describe, expect, it } from 'vitest';

import { Bulkhead } from '../../../../src/operators/index.ts';

describe('Bulkhead', () => {
  it('lets its limit in and refuses the next, until one is out', () => {
    const bulkhead = new Bulkhead({ limit: 2 });
    expect([bulkhead.tryAcquire(), bulkhead.tryAcquire(), bulkhead.tryAcquire()]).toEqual([true, true, false]);
    expect([bulkhead.inUse, bulkhead.limit]).toEqual([2, 2]);

    bulkhead.release();
    expect(bulkhead.tryAcquire()).toBe(true);
  });

  it('says so when a slot is given back twice: it would grow wider than its limit', () => {
    const bulkhead = new Bulkhead({ limit: 1 });
    bulkhead.tryAcquire();
    bulkhead.release();

    expect(() => bulkhead.release()).toThrow(RangeError);
    expect(bulkhead.inUse).toBe(0);
  });

  it.each([0, -1, 1.5, NaN])('refuses a limit of %d', (limit) => {
    expect(() => new Bulkhead({ limit })).toThrow(
      new RangeError(`bulkhead.limit must be an integer >= 1, got ${limit}`),
    );
  });
});
