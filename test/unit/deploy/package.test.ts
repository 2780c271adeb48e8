import { execFileSync } from 'node:child_process';
import { accessSync, constants, cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { rootFile } from './compose-file.ts';

const root = join(import.meta.dirname, '../../..');
// Below node_modules, where what the package depends on is found.
const home = join(root, 'node_modules/.cache/larkspur-package');
const { bin, exports, files } = JSON.parse(rootFile('package.json')) as {
  readonly bin: Record<string, string>;
  readonly exports: Record<string, string>;
  readonly files: readonly string[];
};
const doors = Object.keys(exports).map((door) => `larkspur${door.slice(1)}`);

const node = (...args: string[]): string =>
  execFileSync(process.execPath, args, { cwd: home, encoding: 'utf8', stdio: 'pipe' });
const tsc = (...args: string[]): string => node(join(root, 'node_modules/typescript/bin/tsc'), ...args);

describe('the package that npm installs', { timeout: 120_000 }, () => {
  beforeAll(() => {
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    for (const file of ['package.json', ...files.filter((name) => name !== 'dist')]) {
      cpSync(join(root, file), join(home, file), { recursive: true });
    }
    const dist = join(home, 'dist');
    // Types are checked elsewhere.
    tsc('-p', join(root, 'src'), '--outDir', dist, '--noCheck');
    node('--import', import.meta.resolve('tsx'), join(root, 'test/support/build/copy-assets.ts'), dist);
  }, 120_000);

  it('has a command that runs without a loader', () => {
    const command = join(home, bin['larkspur'] ?? '');

    expect(() => accessSync(command, constants.X_OK)).not.toThrow();
    expect(node(command, 'topics', 'plan')).toContain('embedded');
  });

  it('lets everything be imported that it names, and nothing else', () => {
    const script = `const all = await Promise.all(${JSON.stringify(doors)}.map((door) => import(door)));
      console.log(JSON.stringify(all.map((each) => Object.keys(each))))`;
    const exported = JSON.parse(node('--input-type=module', '-e', script)) as string[][];

    expect(doors).toEqual(['larkspur', 'larkspur/operators', 'larkspur/client']);
    expect(exported[0]).toContain('callSchema');
    expect(exported[1]).toContain('retryWithBackoff');
    expect(exported[2]).toEqual(['createClient']);
    expect(() => node('--input-type=module', '-e', "await import('larkspur/dist/pipeline/house.js')")).toThrow(
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    );
  });

  it('has types that hold in a strict project that checks its libraries too', () => {
    const source = doors.map((door, index) => `export * as door${index} from '${door}';`);
    writeFileSync(join(home, 'user.ts'), source.join('\n'));
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];

    expect(tsc(...options, '--skipLibCheck', 'false', '--ignoreConfig', 'user.ts')).toBe('');
  });

  it('carries every file that is read at run time', () => {
    const read = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !['.ts', '.md'].includes(extname(entry.name)))
      .map((entry) => relative(join(root, 'src'), join(entry.parentPath, entry.name)))
      .filter((file) => file !== 'tsconfig.json');

    expect(read).toContain('adapters/redis/scripts/claims.lua');
    expect(read.filter((file) => !existsSync(join(home, 'dist', file)))).toEqual([]);
  });
});
