import { describe, expect, it } from 'vitest';

import { handsOf } from '../../../../src/runtime/playbooks/hands.ts';
import { news } from '../../../support/calls.ts';
import { PipelineBench } from '../../../support/pipeline-bench.ts';

const neverAsked = () => Promise.reject(new Error('nobody disturbs here'));

function opened() {
  const bench = new PipelineBench({ upstreams: { news: {}, plain: { breaker: 'off' } } });
  const { house } = bench.start();
  return { bench, house, hands: handsOf(house, undefined, neverAsked) };
}

describe('what playbooks reach', () => {
  it('isolates an upstream, and lets it go as it was', () => {
    const { bench, hands } = opened();
    const letGo = hands.isolate('news', 'playbook x');
    bench.call(news('n'));
    bench.run(60_000);
    expect(bench.upstream('news').attempts).toEqual([]);
    letGo();
    bench.run(100);
    expect(bench.results).toHaveLength(1);
  });

  it('leaves alone what a person has set meanwhile', () => {
    const { house, hands } = opened();
    const breakers = house.destinations.get('news')?.breakers;
    const letGo = hands.isolate('news', 'playbook x');
    breakers?.forceAll('closed', 0);
    letGo();
    expect(breakers?.forced).toBe('closed');
  });

  it('lets go for itself alone: what a person or another playbook holds open stays open', () => {
    const { house, hands } = opened();
    const breakers = house.destinations.get('news')!.breakers!;
    const letGo = [hands.isolate('news', 'playbook x'), hands.isolate('news', 'playbook y')];
    letGo[0]?.();
    expect(breakers.forced).toBe('open');
    letGo[1]?.();
    expect(breakers.forced).toBeUndefined();

    const letGoOfMine = hands.isolate('news', 'playbook x');
    breakers.forceAll('open', 0);
    letGoOfMine();
    expect([breakers.forced, breakers.get('any').forced]).toEqual(['open', 'open']);
  });

  it('leaves what a person imposed on a single breaker as it was', () => {
    const { house, hands } = opened();
    const breakers = house.destinations.get('news')!.breakers!;
    breakers.get('spared').force('metrics-only', 0);
    breakers.get('other');
    const letGo = hands.isolate('news', 'playbook x');
    expect([breakers.get('spared').forced, breakers.get('other').forced]).toEqual(['open', 'open']);
    breakers.get('wanted');
    breakers.force('wanted', 'closed', 0);
    letGo();
    expect(['spared', 'other', 'wanted', 'new'].map((key) => breakers.get(key).forced)).toEqual([
      ...['metrics-only', undefined, 'closed', undefined],
    ]);
  });

  it('pauses an upstream for itself alone', () => {
    const { house, hands } = opened();
    const letGo = hands.pause('news', 'playbook x');
    house.pauses.pause('news', 'ana');
    letGo();
    expect(house.pauses.heldBy('news')).toEqual(['ana']);
  });

  it('says what cannot be done: no such upstream, no breaker, no file', () => {
    const { hands } = opened();
    expect(() => hands.isolate('gone', 'x')).toThrow('there is no upstream gone in this process');
    expect(() => hands.pause('gone', 'x')).toThrow('there is no upstream gone in this process');
    expect(() => hands.isolate('plain', 'x')).toThrow('plain has no breaker: it is configured off');
    expect(() => hands.overlay('x', {})).toThrow('was not started with a configuration file');
  });
});
