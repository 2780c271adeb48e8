import { afterAll, describe, expect, it } from 'vitest';

import { describe as shownOf } from '../../../src/config/describe.ts';
import { tableRules } from '../../../src/config/route-table.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

describe('a table of routes', () => {
  it('has numbers of its own once it is declared, and none where it is not', () => {
    expect(files.load('{}').config.routeTable).toBeUndefined();
    expect(files.load('routeTable: { file: rules.yaml }').config.routeTable).toEqual({
      source: { kind: 'file', file: 'rules.yaml' },
      timeoutMs: 500,
      exportMs: 3_600_000,
      sharedMs: 300_000,
      freshMs: 50,
      entries: 10_000,
      bytes: 64 * 1_048_576,
    });
  });

  it('in MySQL has a name by itself, and its password is never shown', () => {
    const loaded = files.load('routeTable: { mysql: "mysql://me:very-secret@db:3306/larkspur", timeoutMs: 400 }');
    const { source, timeoutMs } = loaded.config.routeTable ?? {};
    expect([source, timeoutMs]).toEqual([
      { kind: 'mysql', url: 'mysql://me:very-secret@db:3306/larkspur', table: 'routing_rules' },
      400,
    ]);
    const shown = shownOf(loaded).filter(({ path }) => path.startsWith('routeTable'));
    expect(shown.map(({ path }) => path)).toContain('routeTable.table');
    expect(JSON.stringify(shown)).not.toContain('very-secret');
  });

  it('comes from one place, in words that are known', () => {
    expect(files.mistakes('routeTable: {}')).toEqual(['routeTable (FILE:1): must have one of file, mysql']);
    expect(files.mistakes('routeTable: { file: a.yaml, mysql: "mysql://h/d" }')).toHaveLength(1);
    expect(files.mistakes('routeTable: { file: a.yaml, table: t }')).toEqual([
      'routeTable.table (FILE:1): is only for mysql',
    ]);
    expect(files.mistakes('routeTable: { mysql: "mysql://host/db", table: "t; DROP" }')[0]).toContain(
      'routeTable.table',
    );
    expect(files.mistakes('routeTable: { mysql: "mysql://host" }')[0]).toContain('address with the database');
    expect(files.mistakes('routeTable: { file: a.yaml, freshMs: 6000, sharedMs: 5000 }')).toEqual([
      'routeTable.freshMs (FILE:1): is 6000, must not be above routeTable.sharedMs (5000)',
    ]);
  });

  it('leads to declared upstreams alone, by their address, and to hooks of the configuration', () => {
    const { config } = files.load(`
upstreams: { approvals: { baseUrl: http://approvals.internal } }
routes: [{ on: 'a', http: http://hooks.internal/x }]
`);
    const { rules, refused } = tableRules(
      [
        { name: 'one', on: 'approval.*', http: 'http://approvals.internal/hook', app: null },
        { name: 'two', on: 'b', http: 'http://hooks.internal/y', position: 7 },
        { name: 'three', on: 'b', http: 'http://elsewhere.internal/y' },
      ],
      [],
      config,
      () => undefined,
    );
    expect(rules).toEqual([
      {
        spec: {
          ...{ name: 'one', on: 'approval.*', app: undefined, when: undefined },
          to: { kind: 'http', upstream: 'approvals', path: '/hook' },
        },
        position: 0,
      },
      {
        spec: {
          ...{ name: 'two', on: 'b', app: undefined, when: undefined },
          to: { kind: 'http', upstream: 'hook-hooks-internal', path: '/y' },
        },
        position: 7,
      },
    ]);
    expect(refused).toEqual([
      {
        rule: 'three',
        message: 'the rule is left out: http://elsewhere.internal is the address of no declared upstream',
      },
    ]);
  });

  it('asks what is wrong with an expression of rules that are new or changed, and keeps the words of before', () => {
    const { config } = files.load('{}');
    const asked: string[] = [];
    const check = (raw: readonly unknown[], before: Parameters<typeof tableRules>[1] = []) =>
      tableRules(raw, before, config, ({ name, when }) => {
        asked.push(name);
        return when === 'wrong' ? 'no expression' : undefined;
      });
    const rule = (name: string, when: string) => ({ name, on: 'x', topic: 'audit', when });
    const { rules } = check([rule('a', 'true'), rule('b', 'true')]);
    const next = check([rule('a', 'true'), rule('b', 'wrong'), rule('c', 'wrong')], rules);

    expect(asked).toEqual(['a', 'b', 'b', 'c']);
    expect(next.rules).toEqual(rules);
    expect(next.refused).toEqual([
      { rule: 'b', message: 'the rule stays as it was: no expression' },
      { rule: 'c', message: 'the rule is left out: no expression' },
    ]);
  });
});
