import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { root, textOf } from './markdown.ts';

/** Names of all metrics that the source makes. */
export function metricsInSource(): ReadonlySet<string> {
  const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = paths.filter((path) => path.endsWith('.ts')).map((path) => textOf(join('src', path)));
  return new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'((?:larkspur|service|route|rule)_[a-z_]+)'/g)].map(([, name = '']) => name),
    ),
  );
}

/** Names of all commands of the program, as `--help` lists them. */
export function commandsInSource(): string[] {
  return [...textOf('src/cli/main.ts').matchAll(/^ {4}name: '([a-z-]+)'/gm)].map(([, name = '']) => name);
}
