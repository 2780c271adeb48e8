import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const out = join(root, 'node_modules/.cache/larkspur-throughput');

/**
 * Compiles both contestants as the image does: under tsx every closure is named when it is made, which would burden the one
 * with more closures. Returns the folder of the compiled bench.
 */
export function buildContestants(): string {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  // Below node_modules there is no package to say what kind of modules these are.
  writeFileSync(join(out, 'package.json'), '{ "type": "module" }\n');
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'test/bench')], {
    stdio: 'inherit',
  });
  const assets = new Set(['', '.json', '.lua', '.tsv']);
  cpSync(join(root, 'src'), join(out, 'src'), { recursive: true, filter: (path) => assets.has(extname(path)) });
  return join(out, 'test/bench/throughput');
}
