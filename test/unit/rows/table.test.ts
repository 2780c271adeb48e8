import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

const folder = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', folder), 'utf8');

/** Rows of the table with the files that they name. */
const rows = [...readme.matchAll(/^\| (S\d{3}-\d{2}) \| (.*) \|$/gm)].map(
  ([, id = '', cell = '']) => [id, [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => file)] as const,
);

/** Cases of the second table with what they name: files, and scenarios of `npm run chaos`. */
const cases = [...readme.matchAll(/^\| ([KP]\d+) \| [^|]* \| (.*) \|$/gm)].map(
  ([, id = '', cell = '']) =>
    [
      id,
      [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => file),
      [...cell.matchAll(/`chaos -- ([\w-]+)`/g)].map(([, scenario = '']) => scenario),
    ] as const,
);

const chaos = readFileSync(new URL('chaos/main.ts', folder), 'utf8');

/** Rows about crashes. */
const crash = ['S000-35', 'S000-72', 'S000-82'];

/** The ids at the start of the titles in a file: `'S000-38, S000-39: ...'`. */
function idsOf(file: string): Set<string> {
  const titles = readFileSync(new URL(file, folder), 'utf8').matchAll(/['"`]((?:[A-Z][\w-]*, )*[A-Z][\w-]*): /g);
  return new Set([...titles].flatMap(([, ids = '']) => ids.split(', ')));
}

describe('the table of rows', () => {
  it('names a test for each of the 36 rows of the main work, and for what came after', () => {
    const ids = new Set(rows.map(([id]) => id));
    expect(ids.size).toBeGreaterThanOrEqual(36 + crash.length);
    expect(crash.filter((id) => !ids.has(id))).toEqual([]);
  });

  it.each(rows)('%s stands at the start of a title in each file that the table names', (id, files) => {
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !idsOf(file).has(id))).toEqual([]);
  });
});

describe('the table of faults', () => {
  it.each(cases)('%s stands at the start of a title in each file that the table names', (id, files, scenarios) => {
    expect(files.length + scenarios.length).toBeGreaterThan(0);
    expect(files.filter((file) => !idsOf(file).has(id))).toEqual([]);
    expect(scenarios.filter((name) => !new RegExp(`^  '?${name}'?(,|: )`, 'm').test(chaos))).toEqual([]);
  });
});
