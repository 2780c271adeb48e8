import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('the steps of a breaker', () => {
  it('S002-09: an opening is one warning with upstream, reason and until when; the others are news', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: { consecutiveFailures: 5, openJitter: 0 } } } });
    bench.upstream('news').script = ({ atMs }) => ({ status: atMs < 500 ? 503 : 200 });
    bench.start();
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    bench.run(30_000);
    bench.call(news('later'));
    bench.run(10);
    const told = bench.log.lines.filter(({ message }) => message.startsWith('a breaker'));

    expect(told.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: 'a breaker opened',
        fields: {
          upstream: 'news',
          breaker: 'news.internal/news',
          from: 'closed',
          to: 'open',
          reason: '5 failures in a row',
          until: expect.stringMatching(/^2026-01-01T00:00:01\.\d{3}Z$/) as string,
        },
      },
    ]);
    expect(told.slice(1).map(({ level, fields }) => [level, fields['to']])).toEqual([
      ['info', 'half-open'],
      ['info', 'ramp'],
      ['info', 'closed'],
    ]);
  });
});
