import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { loadConfig } from '../../../src/config/load.ts';
import { RetryPlan } from '../../../src/operators/retry/retry-plan.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-walls-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(yaml: string) {
  const file = join(folder, 'larkspur.yaml');
  writeFileSync(file, yaml);
  return loadConfig({ file, env: {} });
}

describe('walls between upstreams', () => {
  it('S002-16: weather, news, stock and ip never have more than 10, 5, 5 and 10 in flight', () => {
    const names = ['weather', 'news', 'stock', 'ip'];
    const yaml = names.map((name) => `  ${name}: { preset: platform, baseUrl: "http://${name}" }`).join('\n');
    const { upstreams } = load(`upstreams:\n${yaml}\n`).config;
    const settings = names.map((name) => [name, { concurrency: upstreams[name]?.concurrency ?? 0 }] as const);
    const bench = new PipelineBench({ upstreams: Object.fromEntries(settings) });
    for (const name of names) bench.upstream(name).script = () => ({ afterMs: 500 });
    bench.start();
    for (let i = 0; i < 100; i++) for (const name of names) bench.call(news(`${name}-${i}`, { upstream: name }));
    bench.run(20_000);

    expect(bench.results).toHaveLength(400);
    expect(names.map((name) => bench.upstream(name).mostInFlight)).toEqual([10, 5, 5, 10]);
  });

  it('S002-17: an upstream that nobody declared is named in the dead letter', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(news('n', { upstream: 'nobody' }));
    bench.run(10);

    expect(bench.deadLetters).toMatchObject([{ reason: 'unroutable' }]);
    expect(bench.deadLetters[0]?.history.message).toContain('nobody');
  });

  it('S002-17: one that is declared without numbers has defaults, and config shows them as such', () => {
    const { raw, sources } = load('upstreams: { plain: { baseUrl: "http://plain" } }');

    expect(raw.upstreams?.['plain']).toMatchObject({ concurrency: 64, breaker: { consecutiveFailures: 15 } });
    expect(sources.get('upstreams.plain.concurrency')).toBe('default');
  });

  it('S004-34: the gateway waits 100, 200, 400 ms within 30 %, never above 1.3 s, and makes four attempts in all', () => {
    const { retry } = load('upstreams: { a: { preset: gateway, baseUrl: "http://a" } }').config.upstreams['a']!;
    if (retry === 'off') throw new Error('the preset does not retry');
    const random = seededRandom(34);
    const plan = new RetryPlan(retry, random);
    const range = (n: number): readonly [number, number] => {
      const waits = Array.from({ length: 2_000 }, () => plan.delayMs(n));
      return [Math.min(...waits), Math.max(...waits)];
    };

    expect(retry.maxAttempts).toBe(4);
    for (const [n, ms] of [
      [1, 100],
      [2, 200],
      [3, 400],
    ] as const) {
      const [least, most] = range(n);
      expect([least >= ms * 0.7, most <= ms * 1.3, most - least > ms * 0.5]).toEqual([true, true, true]);
    }
    expect(range(20)[1]).toBeLessThanOrEqual(1_300);
  });

  it('S004-33: an inner limit above the outer one is a mistake that names both', () => {
    const yaml = 'upstreams: { a: { preset: gateway, baseUrl: "http://a", timeouts: { attemptMs: 4000 } } }';

    expect(() => load(yaml)).toThrow(
      /timeouts\.attemptMs.*is 4000, must not be above upstreams\.a\.timeouts\.totalMs \(3000\)/s,
    );
  });
});
