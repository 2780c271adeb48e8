import { chmodSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';

// Carries what is read at run time but not compiled from src to dist, or to the folder named, and makes the command executable.
const root = join(import.meta.dirname, '../../..');
const out = process.argv[2] ?? join(root, 'dist');
const kinds = new Set(['.lua', '.tsv', '.json', '.html', '.css', '.svg']);

for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !kinds.has(extname(entry.name)) || entry.name === 'tsconfig.json') continue;
  const from = join(entry.parentPath, entry.name);
  const to = join(out, relative(join(root, 'src'), from));
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
chmodSync(join(out, 'cli/main.js'), 0o755);
