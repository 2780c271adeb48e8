import { describe, expect, it } from 'vitest';

import { SilentBrokers } from '../../../../src/adapters/kafka/silent-brokers.ts';

describe('SilentBrokers', () => {
  it('K7: tells of a broker that owes an answer too long, once, however often it is asked again', () => {
    const brokers = new SilentBrokers(10_000);
    brokers.asked(1, 0);
    brokers.asked(2, 0);
    brokers.answered(2);
    brokers.asked(1, 5_000);
    expect(brokers.look(9_999)).toEqual([]);
    brokers.asked(2, 9_999);
    expect(brokers.look(10_000)).toEqual([{ broker: 1, silentMs: 10_000 }]);
    expect(brokers.look(19_000)).toEqual([]);
  });

  it('K7: knows at an answer whether it ends a silence, and begins anew after it', () => {
    const brokers = new SilentBrokers(1_000);
    expect(brokers.answered(1)).toBe(false);
    brokers.asked(1, 0);
    brokers.look(1_000);
    expect(brokers.answered(1)).toBe(true);
    expect(brokers.look(9_000)).toEqual([]);
    brokers.asked(1, 9_000);
    expect(brokers.look(10_000)).toHaveLength(1);
  });
});
