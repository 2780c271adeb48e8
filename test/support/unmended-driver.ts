import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';

const require = createRequire(import.meta.url);
const home = dirname(require.resolve('kafkajs/package.json')) + sep;

/**
 * Modules of kafkajs as they were published, by their paths in it: a copy of their own, with all that they load. Test files
 * share a process, so those that everybody has may be mended by then.
 */
export function unmendedDriver(paths: readonly string[]): unknown[] {
  const shared = takeOut();
  try {
    return paths.map((path): unknown => require(`kafkajs/${path}`));
  } finally {
    takeOut();
    Object.assign(require.cache, shared);
  }
}

/** Forgets what was loaded of kafkajs; returns it. */
function takeOut(): NodeJS.Dict<NodeJS.Module> {
  const taken: NodeJS.Dict<NodeJS.Module> = {};
  for (const path of Object.keys(require.cache).filter((path) => path.startsWith(home))) {
    taken[path] = require.cache[path];
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the only way to have a module loaded again
    delete require.cache[path];
  }
  return taken;
}
