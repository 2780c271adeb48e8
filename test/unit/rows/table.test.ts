import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

const folder = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', folder), 'utf8');

/** Rows of the table with the files that they name. */
const rows = [...readme.matchAll(/^\| (S\d{3}-\d{2}) \| (.*) \|$/gm)].map(
  ([, id = '', cell = '']) => [id, [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => file)] as const,
);

/** The ids at the start of the titles in a file: `'S000-38, S000-39: ...'`. */
function idsOf(file: string): Set<string> {
  const titles = readFileSync(new URL(file, folder), 'utf8').matchAll(/['"`]((?:[A-Z][\w-]*, )*[A-Z][\w-]*): /g);
  return new Set([...titles].flatMap(([, ids = '']) => ids.split(', ')));
}

describe('the table of rows', () => {
  it('names a test for each of the 36 rows of the main work, and for what came after', () => {
    expect(new Set(rows.map(([id]) => id)).size).toBeGreaterThanOrEqual(36);
  });

  it.each(rows)('%s stands at the start of a title in each file that the table names', (id, files) => {
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !idsOf(file).has(id))).toEqual([]);
  });
});
