import { describe, expect, it } from 'vitest';

import { rule, RuleBench } from '../../../support/rule-bench.ts';

describe('rules in a table', () => {
  it('that are wrong are left out or stay as they were, each with its reason, and the others are taken', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('good', 'a'), rule('turns-bad', 'b')];
    const { start, routes } = bench.process('a', { exportMs: 60_000 });
    await start();
    bench.source.rules = [
      rule('good', 'c'),
      rule('turns-bad', 'b', { wen: 'x' }),
      { name: 'code', on: 'd', handler: './evil.js' },
      { name: 'far', on: 'd', http: 'http://169.254.169.254/latest' },
      rule('good', 'd'),
      'nothing',
    ];
    await bench.time.advanceAsync(130_000);

    await routes('b');
    await bench.time.advanceAsync(100);
    expect((await routes('c')).names).toEqual(['good']);
    expect((await routes('b')).names).toEqual(['turns-bad']);
    expect((await routes('d')).names).toEqual([]);
    expect(await bench.metrics.text()).toMatch(/^larkspur_rules_refused 5$/m);
    expect(bench.log.text).toContain('the rule stays as it was: wen is not a known key; did you mean when?');
    expect(bench.log.text).toContain('the rule is left out: handler is not a known key');
    expect(bench.log.text).toContain('http://169.254.169.254 is the address of no declared upstream');
    expect(bench.log.text).toContain('the name good is that of another route');
  });

  it('that are wrong stay as any process has exported them last, also where another one reads the table', async () => {
    const bench = new RuleBench();
    const [a, b] = [bench.process('a'), bench.process('bb')];
    const bad = rule('turns-bad', 'x', { wen: 'x' });
    bench.source.rules = [rule('turns-bad', 'first')];
    await a.start();
    await bench.time.advanceAsync(1_000);
    bench.source.rules = [bad];
    expect([...(await b.reading.read()).buckets.keys()]).toEqual(['*/first']);

    bench.source.rules = [rule('turns-bad', 'second')];
    expect(await bench.shelf.write(await b.reading.read(), 1_000, 300_000)).toBe(true);
    bench.source.rules = [bad];
    expect([...(await a.reading.read()).buckets.keys()]).toEqual(['*/second']);
  });

  it('that are wrong stay as this process has read them while the shelf is away', async () => {
    const bench = new RuleBench();
    const { reading, start } = bench.process('a');
    bench.source.rules = [rule('turns-bad', 'first')];
    await start();
    bench.shelf.away = true;
    bench.source.rules = [rule('turns-bad', 'x', { wen: 'x' })];
    expect([...(await reading.read()).buckets.keys()]).toEqual(['*/first']);
  });
});
