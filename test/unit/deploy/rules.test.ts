import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { metricTable } from '../../support/build/metric-table.ts';

import { rootFile } from './compose-file.ts';

const run = promisify(execFile);
const promtool = await run('promtool', ['--version']).then(
  () => true,
  () => false,
);
const missing = promtool ? '' : ' (skipped: promtool is not here; Debian has it in the package prometheus)';
const root = new URL('../../../', import.meta.url).pathname;

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: { readonly summary: string; readonly runbook_url: string };
}
const rules = (parse(rootFile('deploy/prometheus/rules.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const alerts = rules.filter((rule) => rule.alert !== undefined);
const tested = parse(rootFile('deploy/prometheus/rules.test.yml')) as {
  tests: { alert_rule_test?: { alertname: string; exp_alerts?: unknown[] }[] }[];
};

interface Board {
  readonly title: string;
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}
const boards = readdirSync(`${root}deploy/grafana/dashboards`).map(
  (file) => JSON.parse(rootFile(`deploy/grafana/dashboards/${file}`)) as Board,
);

const table = new Map(metricTable().map((row) => [row.name, row]));
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
const ofPrometheus = new Set(['le', 'job', 'instance', 'alertname', 'alertstate']);

/** Names of metrics in a query that nobody makes, and labels that they do not have. */
function strangersIn(expr: string): string[] {
  const names = [...expr.matchAll(/\b(?:larkspur|service)[_:][a-z_]+[a-z0-9_:]*/g)].map(([name]) => name);
  const own = names.filter((name) => !recorded.has(name));
  const rows = own.map(
    (name) => [name, table.get(name) ?? table.get(name.replace(/_(bucket|count|sum)$/, ''))] as const,
  );
  const known = new Set(rows.flatMap(([, row]) => row?.labels ?? []));
  const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/));
  const matched = [...expr.matchAll(/\b([a-z_]+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label);
  const wrong = [...grouped, ...matched].filter(
    (label) => label !== '' && !known.has(label) && !ofPrometheus.has(label),
  );
  return [...rows.flatMap(([name, row]) => (row === undefined ? [name] : [])), ...(own.length > 0 ? wrong : [])];
}

describe(`rules of Prometheus${missing}`, () => {
  it.skipIf(!promtool)(
    'S000-15, S000-16, S000-17, S000-37, S000-40, S000-41, S000-83, S002-02: fire when they must, and only then',
    async () => {
      const checked = await run('promtool', ['check', 'rules', 'deploy/prometheus/rules.yml'], { cwd: root });
      expect(checked.stdout).toContain('SUCCESS');
      const { stdout } = await run('promtool', ['test', 'rules', 'deploy/prometheus/rules.test.yml'], { cwd: root });
      expect(stdout).toContain('SUCCESS');
    },
  );

  it('has a test in which it fires for every alert', () => {
    const firing = new Set(
      tested.tests.flatMap(({ alert_rule_test: cases = [] }) =>
        cases.filter(({ exp_alerts: expected = [] }) => expected.length > 0).map(({ alertname }) => alertname),
      ),
    );
    expect(alerts.length).toBeGreaterThan(14);
    expect(alerts.filter(({ alert }) => !firing.has(alert ?? '')).map(({ alert }) => alert)).toEqual([]);
  });

  it('leads from every alert to its paragraph in the runbook, and has no paragraph too many', () => {
    const headings = [...rootFile('deploy/runbook.md').matchAll(/^## (.*)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert = '', annotations } of alerts) {
      expect(annotations?.runbook_url).toBe(`deploy/runbook.md#${alert.toLowerCase()}`);
      expect(annotations?.summary.length).toBeGreaterThan(20);
    }
  });
});

describe('the table of metrics', () => {
  it('lists metrics alone: each name is one of ours', () => {
    expect(table.size).toBeGreaterThan(50);
    expect([...table.keys()].filter((name) => !/^(?:larkspur|service)_[a-z0-9_]+$/.test(name))).toEqual([]);
  });

  it('has every metric that rules ask for, with the labels that they use', () => {
    expect(rules.flatMap(({ expr }) => strangersIn(expr))).toEqual([]);
  });

  it.each(boards.map((board) => [board.title, board] as const))(
    'has every metric that %s shows, with its labels',
    (_, board) => {
      const wrong = board.panels.flatMap(({ title, targets }) =>
        targets.flatMap(({ expr }) => strangersIn(expr).map((name) => `${title}: ${name}`)),
      );
      expect(board.panels.length).toBeGreaterThan(5);
      expect(wrong).toEqual([]);
    },
  );

  it('finds a stranger, so that the two above can fail', () => {
    expect(strangersIn('sum by (tenant) (rate(larkspur_attempts_total{colour="red"}[5m]))')).toEqual([
      'tenant',
      'colour',
    ]);
    expect(strangersIn('larkspur_no_such_total')).toEqual(['larkspur_no_such_total']);
  });
});
