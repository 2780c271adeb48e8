import { describe, expect, it } from 'vitest';

import { type Breaker, breakerDefaults, BreakerRegistry } from '../../../../src/operators/index.ts';

import { always } from './support.ts';

const registry = (max: number): BreakerRegistry =>
  new BreakerRegistry({
    max,
    random: always(0),
    optionsOf: (key) => ({ ...breakerDefaults, consecutiveFailures: key.startsWith('nervous') ? 1 : 15 }),
  });
const fail = (breaker: Breaker): void => {
  const permit = breaker.acquire(0);
  if (permit.kind === 'permit') breaker.record(permit, 0, true, 10);
};

describe('BreakerRegistry', () => {
  it('gives the same breaker for the same key, made with the options of that key', () => {
    const breakers = registry(10);
    fail(breakers.get('calm'));
    fail(breakers.get('nervous'));

    expect(breakers.get('calm').settled).toBe(true);
    expect(breakers.get('nervous').settled).toBe(false);
  });

  it('drops the least recently used closed one when it is full, and keeps those that are open', () => {
    const breakers = registry(3);
    fail(breakers.get('nervous'));
    breakers.get('b');
    breakers.get('c');
    breakers.get('d');

    expect([...breakers.entries()].map(([key]) => key).sort()).toEqual(['c', 'd', 'nervous']);
  });

  it('takes over what a person imposed, on all or on one, and nothing else', () => {
    const [old, fresh, freshToo] = [registry(10), registry(10), registry(10)];
    fail(old.get('nervous'));
    old.get('held').force('open', 0);
    fresh.adoptForced(old);
    expect([fresh.get('held').forced, fresh.get('nervous').snapshot(0).state]).toEqual(['open', 'closed']);

    old.forceAll('open', 0);
    old.get('spared').force(undefined, 0);
    freshToo.adoptForced(old);
    expect([freshToo.get('any').forced, freshToo.get('spared').forced]).toEqual(['open', undefined]);
  });

  it('takes over who holds them, and what a person imposed beneath that or against it', () => {
    const [old, fresh] = [registry(10), registry(10)];
    old.get('counted').force('metrics-only', 0);
    old.hold('playbook x', 0);
    old.get('spared');
    old.force('spared', 'closed', 0);
    fresh.adoptForced(old);
    expect(['any', 'counted', 'spared'].map((key) => fresh.get(key).forced)).toEqual(['open', 'open', 'closed']);
    fresh.letGo('playbook x', 0);
    expect(['any', 'counted', 'spared'].map((key) => fresh.get(key).forced)).toEqual([
      ...[undefined, 'metrics-only', 'closed'],
    ]);
  });

  it('stays bounded even when all are open', () => {
    const breakers = registry(3);
    for (let i = 0; i < 10; i++) fail(breakers.get(`nervous ${i}`));

    expect([...breakers.entries()]).toHaveLength(3);
  });

  it('finds without making, and makes a fresh one after forget', () => {
    const breakers = registry(3);
    expect(breakers.find('a')).toBeUndefined();

    const first = breakers.get('a');
    expect(breakers.find('a')).toBe(first);
    breakers.forget('a');
    expect(breakers.get('a')).not.toBe(first);
  });
});
