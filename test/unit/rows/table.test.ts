import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

const folder = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', folder), 'utf8');

/** An id with what a cell names: files, and scenarios of `npm run chaos`. */
const named = (id: string, cell: string) =>
  [
    id,
    [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => file),
    [...cell.matchAll(/`chaos -- ([\w-]+)`/g)].map(([, scenario = '']) => scenario),
  ] as const;

const rows = [...readme.matchAll(/^\| (S\d{3}-\d{2}) \| (.*) \|$/gm)].map(([, id = '', cell = '']) => named(id, cell));

/** Cases of the other tables. */
const cases = [...readme.matchAll(/^\| ([KPLD]\d+) \| [^|]* \| (.*) \|$/gm)].map(([, id = '', cell = '']) =>
  named(id, cell),
);

const chaos = readFileSync(new URL('chaos/main.ts', folder), 'utf8');

/** Rows about the main job. */
const main = [
  ...[
    5, 9, 10, 11, 12, 13, 14, 20, 21, 23, 24, 34, 36, 38, 39, 44, 45, 60, 62, 63, 64, 65, 66, 67, 73, 75, 76, 77, 78,
  ].map((n) => `S000-${String(n).padStart(2, '0')}`),
  ...['S002-04', 'S002-05', 'S004-12', 'S004-13', 'S004-23', 'S004-29', 'S004-31'],
];

/** Rows about crashes. */
const crash = ['S000-34', 'S000-35', 'S000-36', 'S000-72', 'S000-82', 'S004-22', 'S004-28', 'S004-36'];

/** Rows about quota and waiting. */
const quota = ['S000-04', 'S000-07', 'S000-18', 'S000-19', 'S000-22', 'S000-80', 'S004-06'];

/** Rows about isolation. */
const isolation = [
  ...[1, 6, 25, 26, 30, 42, 43, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 58, 59, 61, 62].map(
    (n) => `S000-${String(n).padStart(2, '0')}`,
  ),
  ...[1, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23].map(
    (n) => `S002-${String(n).padStart(2, '0')}`,
  ),
  ...[1, 3, 4, 5, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 27, 28, 31, 32, 33, 34, 35].map(
    (n) => `S004-${String(n).padStart(2, '0')}`,
  ),
];

/** The ids at the start of the titles in a file: `'S000-38, S000-39: ...'`. */
function idsOf(file: string): Set<string> {
  const titles = readFileSync(new URL(file, folder), 'utf8').matchAll(/['"`]((?:[A-Z][\w-]*, )*[A-Z][\w-]*): /g);
  return new Set([...titles].flatMap(([, ids = '']) => ids.split(', ')));
}

/** What a row names and does not exist there. */
const wrongIn = (id: string, files: readonly string[], scenarios: readonly string[]): readonly string[] => [
  ...(files.length + scenarios.length === 0 ? ['names nothing'] : []),
  ...files.filter((file) => !idsOf(file).has(id)),
  ...scenarios.filter((name) => !new RegExp(`^  '?${name}'?(,|: )`, 'm').test(chaos)),
];

describe('the table of rows', () => {
  it('names a test for each row of the main job, of crashes, of quota and of isolation', () => {
    const ids = new Set(rows.map(([id]) => id));
    expect([...main, ...crash, ...quota, ...isolation].filter((id) => !ids.has(id))).toEqual([]);
  });

  it.each(rows)('%s stands at the start of a title in each file that the table names', (id, files, scenarios) => {
    expect(wrongIn(id, files, scenarios)).toEqual([]);
  });
});

/** All faults of Kafka, of kafkajs, and what others lost on offsets, rebalance, loss and duplicates, or suffered from a sick upstream. */
const faults = [
  ...Array.from({ length: 36 }, (_, i) => `K${i + 1}`),
  ...Array.from({ length: 5 }, (_, i) => `L${i + 1}`),
  ...Array.from({ length: 10 }, (_, i) => `D${i + 1}`),
  ...Array.from({ length: 12 }, (_, i) => `P${i + 1}`),
  ...[13, 14, 16, 19, 20, 24, 25, 26, 27, 28, 29].map((n) => `P${n}`),
];

describe('the table of faults', () => {
  it('names a test for every fault', () => {
    const named = new Set(cases.map(([id]) => id));
    expect(faults.filter((id) => !named.has(id))).toEqual([]);
  });

  it.each(cases)('%s stands at the start of a title in each file that the table names', (id, files, scenarios) => {
    expect(wrongIn(id, files, scenarios)).toEqual([]);
  });
});
