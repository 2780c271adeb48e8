import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { mistakesOf } from '../../../src/config/mistake.ts';
import { readScenario } from '../../../src/config/scenario.ts';

const folder = join(import.meta.dirname, '../../../deploy/scenarios');

/** The mistakes of a text. */
function mistakes(text: string): readonly string[] {
  try {
    readScenario(text, 'FILE');
  } catch (error) {
    return mistakesOf(error);
  }
  return [];
}

const least = `
name: a
hypothesis: b
blastRadius: { upstreams: [feishu] }
faults: [{ kind: '503' }]
expect: [{ figure: lost, atMost: 0 }]
`;

describe('a scenario file', () => {
  it('may be as short as a name, a belief, a radius, a fault and a bound; all else has defaults', () => {
    expect(readScenario(least, 'FILE')).toMatchObject({
      target: 'sandbox',
      blastRadius: { share: 1, mostMs: 600_000 },
      faults: [{ rule: { kind: '503', match: { upstream: 'feishu' } }, fromMs: 0, toMs: Infinity }],
      load: { calls: 300, perSecond: 40, keys: 20 },
      abort: [],
    });
  });

  it('tells all of its mistakes at once, each with its line', () => {
    const text = `name: No Good
hypothesis: b
blastRadius:
  upstreams: [news]
  share: 0.1
faults:
  - { kind: '503', acts: true }
  - { kind: timeout, rate: 0.2, match: { upstream: weather } }
  - { kind: slow }
expect:
  - { figure: lost }
abort:
  - { figure: p99AddedMs, above: 3 }
`;
    expect(
      mistakes(text)
        .map((line) => line.replace(/\): .*/, ')'))
        .sort(),
    ).toEqual([
      'abort[0].figure (FILE:13)',
      'blastRadius.upstreams[0] (FILE:4)',
      'expect[0] (FILE:11)',
      'faults[0].acts (FILE:7)',
      'faults[0].rate (FILE:7)',
      'faults[1].match.upstream (FILE:8)',
      'faults[1].rate (FILE:8)',
      'faults[2].kind (FILE:9)',
      'name (FILE:1)',
    ]);
  });

  it('keeps faults within the blast radius: upstream, share and time', () => {
    const of = (more: string) => mistakes(least.replace("faults: [{ kind: '503' }]", more)).join();
    expect(of("faults: [{ kind: '503', match: { upstream: news } }]")).toContain(
      'outside of the blast radius (feishu)',
    );
    const workers = least.replace('upstreams: [feishu]', 'upstreams: [feishu], mostMs: 5000, share: 0.5');
    const told = mistakes(
      `${workers.replace("{ kind: '503' }", "{ kind: '503', rate: 0.5 }").replace('lost', 'deadLetters')}target: workers\ndurationMs: 6000\n`,
    );
    expect(told).toEqual(['durationMs (FILE:8): is 6000, above blastRadius.mostMs, 5000']);
    const tenth = least.replace('upstreams: [feishu]', 'upstreams: [feishu], share: 0.1');
    const nth = (n: number) => mistakes(tenth.replace("'503' }", `'503', match: { everyNth: ${n} } }`));
    expect(nth(10)).toEqual([]);
    expect(nth(9).join()).toContain('above blastRadius.share, 0.1');
  });

  it('adds up the shares of faults that hurt the same upstream at the same time', () => {
    const of = (faults: string) =>
      mistakes(
        least
          .replace('upstreams: [feishu]', 'upstreams: [feishu, news], share: 0.3')
          .replace("[{ kind: '503' }]", `[${faults}]`)
          .concat('upstreams: { news: {} }\n'),
      );
    const [a, b] = ["{ kind: '503', rate: 0.1, afterMs: 0, forMs: 1000 }", "{ kind: '429', rate: 0.2, afterMs: 500 }"];
    expect(of(`${a}, ${b}`)).toEqual([]);
    expect(of(`${a}, ${b.replace('0.2', '0.21')}`)).toEqual([
      'faults[1].rate (FILE:5): makes 0.31 with the others of its time, above blastRadius.share, 0.3',
    ]);
    // One after the other, or each at another upstream.
    expect(of(`${a}, ${b.replace('0.2', '0.3').replace('500', '1000')}`)).toEqual([]);
    const at = (fault: string, upstream: string) => fault.replace('rate', `match: { upstream: ${upstream} }, rate`);
    expect(of(`${at(a, 'news')}, ${at(b, 'feishu').replace('0.2', '0.3')}`)).toEqual([]);
  });

  it('refuses a wait that outlives the blast radius, and a refusal of a part of the calls at workers, which rests them all', () => {
    const short = least.replace('upstreams: [feishu]', 'upstreams: [feishu], mostMs: 5000');
    const waits = (parameters: string) => mistakes(short.replace("'503' }", `${parameters} }`));
    expect(waits("'429', resetSeconds: 5")).toEqual([]);
    expect(waits("'429', resetSeconds: 6").join()).toContain('faults[0].resetSeconds (FILE:5): is 6, longer than');
    expect(waits("'503', retryAfterSeconds: 6").join()).toContain('faults[0].retryAfterSeconds (FILE:5): is 6');
    const refusing = (share: number) =>
      mistakes(
        `${least.replace('upstreams: [feishu]', `upstreams: [feishu], share: ${share}`).replace("'503' }", "'429', rate: 0.1 }").replace('lost', 'deadLetters')}target: workers\n`,
      );
    expect(refusing(1)).toEqual([]);
    expect(refusing(0.5).join()).toContain('faults[0].kind (FILE:5): is 429, which holds up all calls');
  });

  it('of workers asks for nothing that cannot be seen from outside, and of the sandbox for no score', () => {
    expect(mistakes(`${least}target: workers\n`).join()).toContain('lost, which cannot be seen with target workers');
    expect(mistakes(least.replace('lost', 'score')).join()).toContain(
      'score, which cannot be seen with target sandbox',
    );
  });

  it('checks the policies of its upstreams as the configuration does', () => {
    const news = 'upstreams: { news: { timeouts: { attemptMs: 5000, totalMs: 1000 } } }\n';
    expect(mistakes(least + news).join()).toContain('upstreams.news.timeouts');
    expect(mistakes(`${least}upstreams: { news: { baseUrl: http://x } }\n`).join()).toContain('upstreams.news.baseUrl');
  });

  it('in the documentation is one that can be confirmed: latency alone makes no call need a fallback', () => {
    const guide = readFileSync(join(folder, '../README.md'), 'utf8');
    const { expect: bounds } = readScenario(/```yaml\n(name: slow-news[^`]*)```/.exec(guide)?.[1] ?? '', 'README.md');
    expect(bounds.map(({ figure }) => figure)).toEqual([
      ...['faults', 'answeredShare', 'p99AddedMs', 'outsideAnsweredShare'],
    ]);
  });

  it('every one that comes along is without a mistake, and has the name of its file', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
    const scenarios = files.filter((path) => !path.endsWith('weekly.yaml'));
    expect(scenarios.length).toBeGreaterThanOrEqual(8);
    for (const path of scenarios) {
      const { name } = readScenario(readFileSync(join(folder, path), 'utf8'), path);
      expect(path.endsWith(`${name}.yaml`)).toBe(true);
    }
  });
});
