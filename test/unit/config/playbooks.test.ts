import { readdirSync } from 'node:fs';

import { afterAll, describe, expect, it } from 'vitest';

import { describe as described, secretsOf } from '../../../src/config/describe.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

const base = 'data: memory\nupstreams: { news: { baseUrl: http://news } }\n';
const withPlaybook = (yaml: string, name = 'play.yaml'): string => `${base}playbooks: ['${files.write(yaml, name)}']\n`;
const mistakesOf = (yaml: string): string[] =>
  files.mistakes(withPlaybook(yaml)).map((line) => line.replace(/[^\s(]*play\.yaml/, 'play.yaml'));

const good = `
name: redis-slow
when:
  metric: larkspur_redis_errors_total
  of: [larkspur_redis_errors_total, larkspur_redis_seconds_count]
  above: 0.15
  forMs: 120000
then:
  - config: { redis.timeoutMs: 800 }
  - alert: { feishu: { webhook: '\${HOOK}', secret: '\${SIGN}' }, text: Redis is slow }
`;
const env = { HOOK: 'https://open.feishu.cn/open-apis/bot/v2/hook/0123', SIGN: 'hush-hush' };

describe('a file of playbooks', () => {
  it('is read with its defaults, and variables in it are filled in', () => {
    const { config } = files.load(withPlaybook(good), { env });
    expect(config.playbooks).toMatchObject([
      {
        name: 'redis-slow',
        trigger: {
          above: 0.15,
          forMs: 120_000,
          clear: 0.12,
          clearForMs: 60_000,
          coolDownMs: 600_000,
          mostMs: Infinity,
        },
        measure: { metric: 'larkspur_redis_errors_total', overMs: 60_000, worst: 'max' },
        condition:
          'larkspur_redis_errors_total of larkspur_redis_errors_total + larkspur_redis_seconds_count > 0.15 for 120 s',
        undo: true,
        steps: [{ dryRun: false }, { dryRun: false, alert: { feishu: { webhook: env.HOOK } } }],
      },
    ]);
  });

  it('lets an upstream go after five minutes unless told otherwise: without calls it cannot show that it is well', () => {
    const mostOf = (more: string): number | undefined => {
      const yaml = `name: x\nwhen: { metric: a, above: 1 }\nthen: [{ pause: news }]\n${more}`;
      return files.load(withPlaybook(yaml)).config.playbooks[0]?.trigger.mostMs;
    };
    expect([mostOf(''), mostOf('mostMs: 60000')]).toEqual([300_000, 60_000]);
  });

  it.each<readonly [string, number]>([
    ['metric: larkspur_health_score, below: 50', 55],
    ['metric: larkspur_health_score, below: 95', 97.5],
    ['metric: larkspur_health_score_overall, below: 100', 100],
    ['metric: larkspur_redis_degraded, below: 1', 1],
    ['metric: larkspur_host_memory_limit_ratio, below: 0.98', 0.99],
    ['metric: a, of: [a, b], below: 0.98', 0.99],
    ['metric: larkspur_slo_budget_left_ratio, below: -1', -0.9],
    ['metric: larkspur_slo_budget_left_ratio, above: -1', -1.2],
    ['metric: larkspur_host_memory_limit_ratio, above: 0.5', 0.4],
    ['metric: larkspur_lane_items, below: 1000', 1_100],
  ])('is over where that can be: %s', (when, clear) => {
    const { config } = files.load(withPlaybook(`name: x\nwhen: { ${when} }\nthen: [{ pause: news }]\n`));
    expect(config.playbooks[0]?.trigger.clear).toBeCloseTo(clear);
  });

  it('has secrets that the log knows to leave out', () => {
    expect(secretsOf(files.load(withPlaybook(good), { env }))).toEqual(expect.arrayContaining([env.HOOK, env.SIGN]));
  });

  it('is refused with all of its mistakes at once, each with its place', () => {
    expect(
      mistakesOf(`
name: Redis Slow
when: { metric: larkspur_redis_errors_total, forMs: soon }
then:
  - isolat: news
  - config: { redis.url: 'redis://other' }
coolDown: 5
`),
    ).toEqual([
      expect.stringMatching(/^coolDown \(.*play\.yaml:7\): is not a known key; did you mean coolDownMs\?/),
      expect.stringMatching(/^name \(.*play\.yaml:2\): is "Redis Slow", must be a text: small letters, digits, dash/),
      expect.stringMatching(/^when\.forMs \(.*play\.yaml:3\): is "soon", must be a whole number/),
      expect.stringMatching(/^then\[0\]\.isolat \(.*play\.yaml:5\): is not a known key; did you mean isolate\?/),
    ]);
  });

  it.each<readonly [string, string, RegExp]>([
    [
      'two steps in one',
      'then: [{ isolate: news, pause: news }]',
      /then\[0\].*does isolate and pause, must have one of/,
    ],
    ['no step', 'then: [{ dryRun: true }]', /does nothing, must have one of/],
    [
      'what needs a restart',
      'then: [{ config: { kafka.group: x } }]',
      /kafka\.group.*takes no effect without a restart/,
    ],
    ['an unknown upstream', 'then: [{ pause: gone }]', /then\[0\] names gone, which is no upstream/],
    ['nobody to be told', 'then: [{ alert: { text: hi } }]', /must have one of feishu and http/],
    [
      'a fault that there is not',
      'then: [{ disturb: { rules: [{ kind: flood }], forMs: 60000 } }]',
      /rules\[0\]\.kind: is "flood"/,
    ],
    ['nothing to scale', 'then: [{ scale: { replicas: 8 } }]', /must have one of deployment and command/],
  ])('does not take %s', (_name, then, message) => {
    const lines = mistakesOf(`name: x\nwhen: { metric: a, above: 1 }\n${then}\n`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(message);
  });

  it.each<readonly [string, RegExp]>([
    ['{ metric: a }', /must have one of above and below/],
    ['{ metric: a, above: 1, below: 0 }', /must have one of above and below/],
    ['{ above: 1 }', /must have one of metric and event/],
    ['{ metric: a, above: 1, clear: 2 }', /clear.*is 2, must not be above when\.above/],
    ['{ metric: a, below: 75, clear: 70 }', /clear.*is 70, must not be below when\.below/],
    ['{ metric: larkspur_health_score, below: 95, clear: 104 }', /clear.*is 104, which is never reached.*to 100/],
    ['{ metric: larkspur_redis_degraded, above: 0, clear: -1 }', /clear.*is -1, which is never reached.*from 0/],
    ['{ event: redis-away, upstream: news }', /has no meaning for redis-away/],
    ['{ metric: a, above: 1, upstream: gone }', /when names gone, which is no upstream/],
  ])('does not take the condition %s', (when, message) => {
    expect(mistakesOf(`name: x\nwhen: ${when}\nthen: [{ isolate: news }]\n`).join('\n')).toMatch(message);
  });

  it('is named once, and must be there', () => {
    const one = files.write('name: x\nwhen: { metric: a, above: 1 }\nthen: [{ isolate: news }]\n', 'one.yaml');
    expect(files.mistakes(`${base}playbooks: ['${one}', '${one}', gone.yaml]`)).toEqual([
      expect.stringContaining('name is x, which another playbook has'),
      expect.stringContaining('gone.yaml cannot be read'),
    ]);
  });
});

describe('the examples', () => {
  const folder = new URL('../../../deploy/playbooks/', import.meta.url).pathname;
  const examples = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

  it('load without a mistake', () => {
    const paths = examples.map((name) => `'${folder}${name}'`).join(', ');
    const names = { ON_CALL_WEBHOOK: 'https://open.feishu.cn/open-apis/bot/v2/hook/0', ON_CALL_SECRET: 's' };
    const { config } = files.load(`${base}playbooks: [${paths}]\n`, { env: names });
    expect(config.playbooks.map(({ name }) => `${name}.yaml`)).toEqual(examples);
    expect(examples.length).toBeGreaterThan(2);
  });
});

describe('values over the file', () => {
  it('S000-91: are in force under the name of their playbook, and gone with it', () => {
    const yaml = `${base}redis: { url: 'redis://r' }\n`;
    const at = (overlays: Parameters<typeof files.load>[1], path: string) => {
      const loaded = files.load(yaml, overlays);
      return { timeoutMs: loaded.config.redis?.timeoutMs, shown: described(loaded).find((line) => line.path === path) };
    };
    const overlay = { source: 'playbook redis-slow', values: { 'redis.timeoutMs': 800 } };
    expect(at({ overlays: [overlay] }, 'redis.timeoutMs')).toEqual({
      timeoutMs: 800,
      shown: { path: 'redis.timeoutMs', value: '800', source: 'playbook redis-slow' },
    });
    expect(at({}, 'redis.timeoutMs')).toEqual({
      timeoutMs: 250,
      shown: { path: 'redis.timeoutMs', value: '250', source: 'default' },
    });
  });

  it('are checked like any other', () => {
    const overlays = [{ source: 'playbook x', values: { 'upstreams.news.concurrency': 0 } }];
    expect(() => files.load(base, { overlays })).toThrow(/upstreams\.news\.concurrency \(playbook x\): is 0, must be/);
  });
});
