import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { callSchema } from '../../../src/model/call.ts';
import { checkCall, contractAjv } from '../../../src/model/contracts.ts';
import { deadLetterHeaders, deadLetterReasons } from '../../../src/model/dead-letter.ts';
import { resultSchema } from '../../../src/model/result.ts';
import { ConfigFiles } from '../../support/config-file.ts';

import { blocksOf, codeOf, headingLevels, linksOf, root, rowsOf, textOf } from './markdown.ts';
import { commandsInSource, metricsInSource } from './source-facts.ts';

const english = textOf('README.md');
const chinese = textOf('README.zh-CN.md');
const both = [
  ['README.md', english],
  ['README.zh-CN.md', chinese],
] as const;
const others = ['src/README.md', 'test/README.md', 'CHANGELOG.md', 'deploy/README.md', 'topics/README.md'];
const all = [...both, ...others.map((path) => [path, textOf(path)] as const)];

const files = new ConfigFiles();
afterAll(() => files.remove());

/** Sections by their place, so that both languages are found. */
const section = { call: 8, result: 9, deadLetter: 10, http: 11, commands: 12, configuration: 13 };
const firstCode = (cell = ''): string => /`([^`]+)`/.exec(cell)?.[1] ?? '';

describe.each(all)('%s', (path, text) => {
  it('links only to what is there', () => {
    const folder = join(root, path, '..');

    expect(linksOf(text).filter((target) => !existsSync(join(folder, target.replace(/#.*/, ''))))).toEqual([]);
  });

  it('names npm scripts that package.json has', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][a-z:]*)/g)].map(([, name = '']) => name);

    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('names commands that the program has', () => {
    const known = commandsInSource();
    const shown = [...codeOf(text), ...blocksOf(text).flatMap((block) => block.text.split('\n'))];
    const named = shown.flatMap((code) => /^(?:npm run --silent larkspur --|larkspur) ([a-z-]+)/.exec(code)?.[1] ?? []);

    expect(known).toContain('worker');
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('names metrics that the source makes', () => {
    const made = metricsInSource();
    const named = [...text.matchAll(/\b(?:larkspur|service)_[a-z_]+[a-z]\b/g)].map(([name]) => name);

    expect(made.size).toBeGreaterThan(20);
    expect(named.filter((name) => !made.has(name))).toEqual([]);
  });
});

describe.each(both)('what %s promises', (_path, text) => {
  it('is calls, results and histories that fit their contracts', () => {
    const isResult = contractAjv(true).compile(resultSchema);
    const json = blocksOf(text).filter(({ language }) => language === 'json');
    const calls = blocksOf(text)
      .filter(({ language }) => language === 'bash')
      .flatMap((block) => [...block.text.matchAll(/'(?:[^'{|]*\|)?(\{"path"[^']*\})'/g)].map(([, call = '']) => call));

    expect([json.length, calls.length]).toEqual([2, 2]);
    const values = [...json.map((block) => block.text), ...calls].map((one) => JSON.parse(one) as object);
    const faults = values.map((value) =>
      'path' in value ? checkCall(value) : { ok: isResult(value), errors: isResult.errors },
    );
    expect(faults.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('is configurations that load without a mistake and without a warning', () => {
    const yaml = blocksOf(text).filter(({ language }) => language === 'yaml');
    const env = {
      FEISHU_APP_SECRET: 's',
      FEISHU_ENCRYPT_KEY: 'k',
      KAFKA_PASSWORD: 'p',
      REDIS_URL: 'redis://localhost:6379',
      LARKSPUR_ADMIN_TOKEN: 't',
    };

    expect(yaml).toHaveLength(5);
    for (const block of yaml) expect(files.load(block.text, { env }).warnings).toEqual([]);
  });

  it('is the fields of a call and of a result, all of them', () => {
    const fields = (place: number) => rowsOf(text, place).flatMap(([name = '']) => codeOf(name));

    expect(fields(section.call)).toEqual(Object.keys(callSchema.properties));
    expect(fields(section.result).sort()).toEqual(Object.keys(resultSchema.properties).sort());
  });

  it('is the headers and reasons of dead letters, all of them', () => {
    const named = rowsOf(text, section.deadLetter).map(([name]) => firstCode(name));

    expect(named.sort()).toEqual([...Object.values(deadLetterHeaders), ...deadLetterReasons].sort());
  });

  it('is doors that are there', () => {
    const source = [
      'ingress/calls-api',
      'ingress/feishu/doors',
      'ingress/oauth/oauth-doors',
      'adapters/http/admin-routes',
      'adapters/http/breaker-routes',
      'adapters/http/console/console-route',
      'adapters/http/dead-letter-routes',
      'adapters/http/explain-routes',
      'adapters/http/pause-routes',
      'adapters/http/playbook-routes',
      'adapters/http/review-routes',
      'adapters/http/stability-routes',
      'adapters/http/fault-routes',
    ]
      .map((file) => textOf(`src/${file}.ts`))
      .join('');
    const doors = rowsOf(text, section.http).map(([door]) =>
      firstCode(door)
        .replace(/\?.*/, '')
        .replace(/\{(\w+)\}/g, ':$1'),
    );

    expect(doors).toHaveLength(38);
    expect(doors.filter((door) => !source.includes(`'${door.split(' ')[1] ?? door}'`))).toEqual([]);
  });

  it('is every command', () => {
    const shown = rowsOf(text, section.commands).map(([command]) => firstCode(command).replace('larkspur ', ''));

    expect(shown.sort()).toEqual(commandsInSource().sort());
  });

  it('is the defaults in force', () => {
    const services = 'kafka: { brokers: ["k:9092"] }\nredis: { url: "redis://r" }\n';
    const { raw } = files.load(`${services}upstreams: { x: { baseUrl: "http://x" } }`);
    const inForce = (path: string): unknown =>
      path.split('.').reduce((at: unknown, step) => (at as Record<string, unknown> | undefined)?.[step], raw);
    const given = new Set(['kafka.brokers', 'redis.url', 'upstreams.x.baseUrl']);
    const wrong: unknown[] = [];
    for (const [key, cell = ''] of rowsOf(text, section.configuration)) {
      const [plain = '', feishu = plain] = cell.split(/feishu (?=`)/);
      for (const [name, written = ''] of [
        ['x', plain],
        ['feishu', feishu],
      ] as const) {
        const path = firstCode(key).replace('*', name);
        if (given.has(path)) continue;
        const code = firstCode(written);
        const value = inForce(path);
        const fits = code === '' ? value === undefined : code === value || same(parse(code), value);
        if (!fits) wrong.push([path, written, value]);
      }
    }

    expect(wrong).toEqual([]);
  });
});

describe('both languages', () => {
  it('have the same headings, blocks, links and tables', () => {
    const shape = (text: string) => ({
      headings: headingLevels(text),
      blocks: blocksOf(text),
      links: linksOf(text).filter((target) => !/^README/.test(target)),
      tables: headingLevels(text).map((_, place) => rowsOf(text, place + 1).map((row) => row.length)),
    });

    expect(shape(chinese)).toEqual(shape(english));
  });
});

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
