import { describe, expect, it } from 'vitest';

import { httpProbe } from '../../../src/adapters/http/health-probe.ts';
import { BreakerRegistry } from '../../../src/operators/breaker/breaker-registry.ts';
import { breakerDefaults } from '../../../src/operators/breaker/options.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { seededRandom } from '../../support/virtual-time.ts';

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

  it('are told once, however often its upstream has had another health check', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: { consecutiveFailures: 1 } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    const destination = house.destinations.get('news');
    if (destination !== undefined) for (let n = 0; n < 3; n++) house.breakersChanged(destination);
    bench.call(news('n', { retry: false }));
    bench.run(100);

    expect(bench.log.lines.filter(({ message }) => message === 'a breaker opened')).toHaveLength(1);
  });

  it('are told, and its probe is sent, of those alone that it has now', () => {
    const probeOf = (path: string) => httpProbe({ pathPrefix: '', path, headers: {}, expect: 200, withinMs: 3_000 });
    const settings = { breaker: { consecutiveFailures: 1 }, probe: probeOf('/wrong') };
    const bench = new PipelineBench({ upstreams: { news: settings } });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    bench.call(news('n', { retry: false }));
    bench.run(5_000);
    const asked = (path: string) => bench.upstream('news').attempts.filter((attempt) => attempt.path === path).length;
    expect(asked('/wrong')).toBe(2);

    const destination = house.destinations.get('news');
    if (destination === undefined) throw new Error('no news');
    const options = { ...breakerDefaults, ...settings.breaker, declaredProbe: true };
    const breakers = new BreakerRegistry({ optionsOf: () => options, random: seededRandom(1) });
    Object.assign(destination, { breakers, probe: probeOf('/right'), policies: destination.policies + 1 });
    house.breakersChanged(destination);
    bench.call(news('m', { retry: false }));
    bench.run(60_000);

    expect(asked('/wrong')).toBe(2);
    expect(asked('/right')).toBeGreaterThan(2);
  });

  it('are probed no more where one alone was made anew, as that of a group with another policy', () => {
    const probe = httpProbe({ pathPrefix: '', path: '/up', headers: {}, expect: 200, withinMs: 3_000 });
    const bench = new PipelineBench({ upstreams: { news: { breaker: { consecutiveFailures: 1 }, probe } } });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    bench.call(news('n', { retry: false }));
    bench.run(5_000);
    const asked = () => bench.upstream('news').attempts.filter(({ path }) => path === '/up').length;
    expect(asked()).toBe(2);

    const options = { ...breakerDefaults, declaredProbe: true };
    house.destinations.get('news')?.breakers?.replaceOptions(
      () => options,
      () => true,
    );
    bench.run(60_000);
    expect(asked()).toBe(2);
  });
});
