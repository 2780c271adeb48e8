import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a worker and values made to break it', () => {
  it('K17, D1, D2: goes on behind an answer that nests too deep to be written as JSON, and hands it on as text', () => {
    const bench = new PipelineBench();
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    bench.upstream('news').script = () => ({ body: Buffer.from(deep) });
    bench.start();
    bench.call(news('a'), 'k');
    bench.call(news('b'), 'k');
    bench.run(5_000);

    expect(bench.results.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(bench.results[0]?.response?.body).toBe(deep);
    expect(bench.lag).toBe(0);
  });

  it('makes a dead letter of a call that nests too deep, byte for byte, and goes on', () => {
    const bench = new PipelineBench();
    const value = Buffer.from(`{"path":"/a","body":${'['.repeat(50_000)}${']'.repeat(50_000)}}`);
    bench.start();
    bench.raw(value, 'k');
    bench.call(news('b'), 'k');
    bench.run(5_000);

    expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['invalid_call']);
    expect(bench.records('dead-letters')[0]?.value).toEqual(value);
    expect(bench.results.map(({ id }) => id)).toEqual(['b']);
  });

  it.each(['hunter2', '{"secret":"hunter2"', '{"secret":hunter2}', '\ufeff{"secret":"hunter2"}'])(
    'never repeats what a value that is no JSON holds: %s',
    (text) => {
      const bench = new PipelineBench();
      bench.start();
      bench.raw(Buffer.from(text), 'k');
      bench.run(5_000);

      const [letter] = bench.deadLetters;
      expect(letter?.reason).toBe('undecodable');
      expect(letter?.history.message).toMatch(/^the value is not JSON: ./);
      expect(JSON.stringify(letter?.history)).not.toContain('hunter');
    },
  );

  it('refuses a value that is JSON but not UTF-8, instead of sending other characters than were meant', () => {
    const bench = new PipelineBench();
    const gbk = Buffer.concat([
      Buffer.from('{"path":"/a","body":{"text":"'),
      Buffer.from([0xc4, 0xe3]),
      Buffer.from('"}}'),
    ]);
    bench.start();
    bench.raw(gbk, 'k');
    bench.run(5_000);

    expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['undecodable']);
    expect(bench.records('dead-letters')[0]?.value).toEqual(gbk);
    expect(bench.upstream().attempts).toEqual([]);
  });
});
