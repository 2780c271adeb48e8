import { describe, expect, it } from 'vitest';

import { atLeast, atMost, machine, printReport, reportOf } from '../../../src/runtime/report.ts';

function printed(report: ReturnType<typeof reportOf>, json: boolean) {
  const lines: string[] = [];
  return { code: printReport(report, json, (line) => lines.push(line)), lines };
}

describe('a report', () => {
  it('passes with exit code 0 when every bar holds, and is one line of JSON with --json', () => {
    const report = reportOf('quota', [atMost('refusals', 0, 0), atLeast('utilisation', 0.9, 0.8)], { calls: 5 });
    const { code, lines } = printed(report, true);

    expect([code, lines.length]).toEqual([0, 1]);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      scenario: 'quota',
      pass: true,
      bars: [
        { name: 'refusals', value: 0, atMost: 0, pass: true },
        { name: 'utilisation', value: 0.9, atLeast: 0.8, pass: true },
      ],
      figures: { calls: 5 },
      machine: { node: process.version },
    });
  });

  it.each([
    ['one bar of several is broken', [atMost('lost', 1, 0), atMost('twice', 0, 0)]],
    ['a value falls short', [atLeast('ratio', 0.64, 0.65)]],
    ['a value is no number', [atMost('lost', Number.NaN, 0)]],
    ['there is no bar at all', []],
  ])('fails with exit code 1 when %s', (_, bars) => {
    const { code, lines } = printed(reportOf('demo', bars, {}), false);

    expect([code, lines.at(-1)]).toEqual([1, 'demo: FAIL']);
  });

  it('says on which machine it was made', () => {
    expect(machine()).toMatchObject({ node: process.version, platform: `${process.platform} ${process.arch}` });
    expect(machine().cores).toBeGreaterThan(0);
  });
});
