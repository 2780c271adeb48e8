import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { cruise, type ICruiseResult, type IFlattenedRuleSet } from 'dependency-cruiser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const load = createRequire(import.meta.url);
const { options, ...ruleSet } = load('./layers.cjs') as IFlattenedRuleSet & { readonly options: object };

/** Names of the rules that a tree breaks. */
async function broken(baseDir: string, only: readonly string[] = ['src']): Promise<string[]> {
  const { output } = await cruise([...only], { ...options, baseDir, ruleSet, validate: true });
  const { violations } = (output as ICruiseResult).summary;
  return [...new Set(violations.map(({ rule }) => rule.name))].sort();
}

describe('imports go one way', () => {
  let copy = '';
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'larkspur-layers-'));
    cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
    for (const file of ['tsconfig.json', 'package.json']) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('in the house as it is', async () => {
    expect(await broken(root)).toEqual([]);
  }, 60_000);

  it.each([
    ['model', 'model/record.ts', '../ports/clock.ts', 'model-imports-one-way'],
    ['ports', 'ports/clock.ts', '../operators/demand.ts', 'ports-imports-one-way'],
    ['operators', 'operators/demand.ts', '../pipeline/slots.ts', 'operators-imports-one-way'],
    ['pipeline', 'pipeline/slots.ts', '../adapters/system/clock.ts', 'pipeline-imports-one-way'],
    ['an adapter', 'adapters/embedded/offsets.ts', '../redis/errors.ts', 'adapters-do-not-know-each-other'],
    ['the inner rooms', 'pipeline/slots.ts', 'node:fs', 'only-adapters-touch-the-world'],
    ['the inner rooms', 'operators/demand.ts', 'undici', 'drivers-stay-in-adapters'],
    ['two files', 'pipeline/slots.ts', './destination.ts', 'no-cycles'],
    ['a file', 'pipeline/slots.ts', './nowhere.ts', 'not-unresolvable'],
  ])(
    'and %s (%s) may not import %s',
    async (_room, file, planted, rule) => {
      const path = join(copy, 'src', file);
      const before = readFileSync(path, 'utf8');
      writeFileSync(path, `import '${planted}';\n${before}`);
      try {
        expect(await broken(copy, [`src/${file}`])).toContain(rule);
      } finally {
        writeFileSync(path, before);
      }
    },
    60_000,
  );
});
