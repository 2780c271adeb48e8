import { describe, expect, it } from 'vitest';

import { Demand } from '../../../src/operators/demand.ts';

describe('Demand', () => {
  it('gives out exactly what was requested', () => {
    const demand = new Demand();
    expect(demand.take()).toBe(false);
    demand.request(2);
    demand.request(1);
    expect(demand.outstanding).toBe(3);
    expect([demand.take(), demand.take(), demand.take(), demand.take()]).toEqual([true, true, true, false]);
    expect(demand.outstanding).toBe(0);
  });

  it('keeps a request that nobody listened to', () => {
    const demand = new Demand();
    demand.request(1);
    demand.attach(() => expect.fail('attaching is no request'));
    expect(demand.take()).toBe(true);
  });

  it('tells whoever is attached, synchronously, and nobody who was detached', () => {
    const demand = new Demand();
    const told: string[] = [];
    const detach = demand.attach(() => told.push('a'));
    demand.attach(() => told.push('b'));
    demand.request(1);
    detach();
    detach();
    demand.request(0);
    demand.request(1);
    expect(told).toEqual(['a', 'b', 'b']);
  });

  it('never ends when infinitely much is requested', () => {
    const demand = new Demand();
    demand.request(Infinity);
    for (let i = 0; i < 1_000; i++) expect(demand.take()).toBe(true);
    expect(demand.outstanding).toBe(Infinity);
  });

  it.each([-1, 0.5, Number.NaN])('refuses a request of %d', (n) => {
    expect(() => {
      new Demand().request(n);
    }).toThrow(RangeError);
  });
});
