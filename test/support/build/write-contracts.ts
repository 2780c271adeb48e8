import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { generatedFiles } from './contracts.ts';

// Writes schemas, topic files and AsyncAPI from their one source; `test/unit/topics` fails when they differ.
const root = join(import.meta.dirname, '../../..');
for (const [path, text] of await generatedFiles()) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`${path}\n`);
}
