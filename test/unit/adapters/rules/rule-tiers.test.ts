import { describe, expect, it } from 'vitest';

import { rule, RuleBench } from '../../../support/rule-bench.ts';

describe('the rules for an event', () => {
  it('are those of its app and type and those of patterns, in the order of the table', async () => {
    const bench = new RuleBench();
    bench.source.rules = [
      rule('patterns', 'im.*', { position: 3 }),
      rule('mine', 'im.message', { app: 'cli_a', position: 1 }),
      rule('all', 'im.message', { position: 2 }),
      rule('my-patterns', '*', { app: 'cli_a', position: 2 }),
      rule('theirs', 'im.message', { app: 'cli_b', position: 0 }),
      rule('other', 'im.chat', { position: 0 }),
    ];
    const { start, routes } = bench.process('a');
    await start();

    expect((await routes('im.message')).names).toEqual(['mine', 'all', 'my-patterns', 'patterns']);
    expect((await routes('im.message', 'cli_b')).names).toEqual(['theirs', 'all', 'patterns']);
    expect((await routes('approval')).names).toEqual(['my-patterns']);
  });

  it('S004-11: are loaded before a process is ready, and the first event asks no source', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message')];
    bench.source.takesMs = 400;
    const { start, routes, table } = bench.process('a');
    expect(table.warm).toBe(false);
    await start();
    expect([table.warm, bench.source.reads]).toEqual([true, 1]);

    bench.source.down = 'gone for good';
    const { names, atOnce } = await routes('im.message');
    expect({ names, atOnce, reads: bench.source.reads }).toEqual({ names: ['one'], atOnce: false, reads: 1 });
    expect(await bench.lookups()).toEqual({ shared: 1 });
    expect((await routes('im.message')).atOnce).toBe(true);
  });

  it('S004-18: take 10,000 places at most, one look per key at a time, and who asks never waits for a refresh', async () => {
    const bench = new RuleBench();
    bench.source.rules = Array.from({ length: 20_001 }, (_, n) => rule(`r${n}`, `type.${n}`));
    const { start, routes, table } = bench.process('a');
    await start();
    for (let n = 0; n <= 20_000; n++) await routes(`type.${n}`);
    expect(await bench.metrics.text()).toMatch(/^larkspur_rules_near (9\d{3}|10000)$/m);
    expect((await routes('type.20000')).names).toEqual(['r20000']);

    // A refresh that takes a second: all are answered at once meanwhile, and one look goes on.
    bench.shelf.takesMs = 1_000;
    bench.shelf.reads = 0;
    bench.shelf.mostAtOnce = 0;
    await bench.time.advanceAsync(100);
    for (let n = 0; n < 500; n++) {
      const { atOnce, names } = await routes('type.20000');
      expect({ atOnce, names }).toEqual({ atOnce: true, names: ['r20000'] });
      await bench.time.advanceAsync(1);
    }
    expect({ atOnce: bench.shelf.mostAtOnce, reads: bench.shelf.reads }).toEqual({ atOnce: 1, reads: 4 });
    expect(table.warm).toBe(true);
  });

  it('S004-18: are looked at again 50 ms after they were written, 20 times a second at most however often they are asked for', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message')];
    const { start, routes } = bench.process('a');
    await start();
    await routes('im.message');
    bench.shelf.reads = 0;
    for (let n = 0; n < 5_000; n++) {
      await routes('im.message');
      if (n % 5 === 0) await bench.time.advanceAsync(1);
    }

    // Four buckets a look: of each 17 to 20 in a second.
    expect(bench.shelf.reads).toBeGreaterThanOrEqual(4 * 15);
    expect(bench.shelf.reads).toBeLessThanOrEqual(4 * 20);
    expect(bench.opened).toBe(1);
  });

  it('S004-19: stand on the shelf for five minutes, are renewed before, and of many processes one reads the source', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message')];
    const processes = ['a', 'bb', 'ccc', 'dddd'].map((name) => bench.process(name));
    await Promise.all(processes.map(({ start }) => start()));
    expect(processes.map(({ table }) => table.warm)).toEqual([true, true, true, true]);
    expect(bench.source.reads).toBe(1);

    for (let minute = 0; minute < 30; minute++) {
      await bench.time.advanceAsync(60_000);
      const state = await bench.shelf.state();
      expect(state?.leftMs).toBeGreaterThan(60_000);
      expect(state?.leftMs).toBeLessThanOrEqual(300_000);
    }
    expect(bench.source.reads).toBe(1);
  });

  it('S004-19: are put back on a shelf that has lost them, also while events ask for them all the time', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message')];
    const { start, routes } = bench.process('a');
    await start();
    await routes('im.message');
    await bench.shelf.write({ buckets: new Map(), exportedAtMs: bench.time.wall(), rules: 0 }, 1_000, 1);
    await bench.time.advanceAsync(1);
    expect(await bench.shelf.state()).toBeUndefined();

    for (let n = 0; n < 200; n++) {
      expect((await routes('im.message')).names).toEqual(['one']);
      await bench.time.advanceAsync(10);
    }
    expect(bench.gone).toBeGreaterThan(2);
    expect(await bench.shelf.state()).toBeDefined();
  });

  it('S004-20: follow a change of the table after the next export, an hour later at most', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('old', 'im.message')];
    const { start, routes } = bench.process('a');
    await start();
    bench.source.rules = [rule('new', 'im.message')];
    await bench.time.advanceAsync(50 * 60_000);
    expect((await routes('im.message')).names).toEqual(['old']);

    await bench.time.advanceAsync(12 * 60_000);
    await routes('im.message');
    await bench.time.advanceAsync(100);
    expect((await routes('im.message')).names).toEqual(['new']);
    expect(bench.source.reads).toBe(2);
  });

  it('S004-21: with 5,000 rules come from memory or the shelf, also those that nothing is for', async () => {
    const bench = new RuleBench();
    bench.source.rules = Array.from({ length: 5_000 }, (_, n) => rule(`r${n}`, `type.${n}`, { app: `cli_${n % 50}` }));
    const { start, routes } = bench.process('a');
    await start();
    for (let second = 0; second < 600; second++) {
      for (let n = 0; n < 20; n++) await routes(`type.${(second * 31 + n * 257) % 6_000}`, `cli_${n}`);
      await bench.time.advanceAsync(1_000);
    }

    const { memory = 0, shared = 0, source = 0 } = await bench.lookups();
    expect(memory + shared + source).toBe(12_000);
    expect(source / 12_000).toBeLessThanOrEqual(0.05);
    expect(bench.source.reads).toBe(1);
  });

  it('S004-05: are there as fast as ever while the source takes 2.3 s, and when it is dead', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message')];
    const { start, routes } = bench.process('a', { exportMs: 60_000 });
    await start();
    await routes('im.message');
    for (const ill of ['slow', 'dead']) {
      bench.source.takesMs = 2_300;
      bench.source.down = ill === 'dead' ? 'dead' : undefined;
      for (let n = 0; n < 200; n++) {
        const { names, atOnce } = await routes('im.message');
        expect({ ill, names, atOnce }).toEqual({ ill, names: ['one'], atOnce: true });
        await bench.time.advanceAsync(1_000);
      }
    }
    expect(bench.source.reads).toBeGreaterThan(5);
    expect(bench.log.text).toContain('the rules cannot be read; those that are known stay');
  });

  it('serve on from memory while the shelf is away, and unknown ones come from the source', async () => {
    const bench = new RuleBench();
    bench.source.rules = [rule('one', 'im.message'), rule('two', 'im.chat')];
    const { start, routes } = bench.process('a');
    await start();
    await routes('im.message');
    await bench.time.advanceAsync(400_000);
    bench.shelf.away = true;
    for (let n = 0; n < 100; n++) {
      expect(await routes('im.message')).toEqual({ names: ['one'], atOnce: true });
      await bench.time.advanceAsync(1_000);
    }
    const waiting = routes('im.chat');
    await bench.time.advanceAsync(100);

    expect(await waiting).toEqual({ names: ['two'], atOnce: false });
    expect(await bench.lookups()).toEqual({ shared: 1, memory: 100, source: 1 });
  });

  it('are waited for by an event of which nobody can tell, until somebody can', async () => {
    const bench = new RuleBench();
    bench.source.down = 'dead';
    bench.shelf.away = true;
    const { routes, table, exported } = bench.process('a');
    exported.start();
    table.start();
    let ended: unknown;
    void routes('im.message').then((found) => (ended = found));
    await bench.time.advanceAsync(60_000);
    expect([ended, table.warm]).toEqual([undefined, false]);

    bench.source.down = undefined;
    bench.source.rules = [rule('one', 'im.message')];
    await bench.time.advanceAsync(31_000);
    expect([ended, table.warm]).toEqual([{ names: ['one'], atOnce: false }, true]);
  });

  it('are asked for no more once a process stops, also where it stops while a question is under way', async () => {
    const bench = new RuleBench();
    bench.source.down = 'away';
    bench.source.takesMs = 50;
    bench.shelf.away = true;
    const { table } = bench.process('a');
    table.start();
    await bench.time.advanceAsync(20);
    table.stop();
    await bench.time.advanceAsync(10_000);
    expect(bench.source.reads).toBe(1);
  });
});
