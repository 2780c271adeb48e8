// What `npm test` runs: every suite this machine can carry, and one closing line with the counts.
//   npm test -- [--only unit,services,docker,faults] [--faults] [vitest arguments and file filters]
// The faults, minutes long, run only where they are asked for, after everything else.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly ancestorTitles: readonly string[] }[];
  }[];
}

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const projects = ['unit', 'services', 'docker', 'faults'] as const;
const root = join(import.meta.dirname, '../..');
const vitestProgram = join(root, 'node_modules/vitest/vitest.mjs');
const yellow = (text: string): string => `\u001b[33m${text}\u001b[0m`;

const { values, tokens } = parseArgs({
  options: { only: { type: 'string', multiple: true }, faults: { type: 'boolean' } },
  strict: false,
  allowPositionals: true,
  tokens: true,
});
const usual = projects.filter((project) => project !== 'faults' || values['faults'] === true);
const named = [values['only'] ?? []].flat().flatMap((names) => (typeof names === 'string' ? names.split(',') : []));
const only = named.length > 0 ? named : usual;
const unknown = only.filter((name) => !projects.some((project) => project === name));
if (unknown.length > 0) {
  console.error(`there is no project ${unknown.join(', ')}; known: ${projects.join(', ')}`);
  process.exit(2);
}
const own = new Set(
  tokens.filter((t) => t.kind === 'option' && ['only', 'faults'].includes(t.name)).flatMap(indexesOf),
);
const passedOn = process.argv.slice(2).filter((_, index) => !own.has(index));

const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const skips: string[] = [];
const work = mkdtempSync(join(tmpdir(), 'larkspur-tests-'));
try {
  for (const project of projects) {
    if (!only.includes(project)) continue;
    await runProject(project);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
for (const skip of skips) console.info(yellow(`skipped: ${skip}`));
console.info(`larkspur: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;

async function runProject(project: string): Promise<void> {
  const file = join(work, `${project}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  // By itself it leaves a core free, which on a machine of two is half of it.
  const workers = project === 'unit' ? ['--maxWorkers=100%'] : [];
  const code = await vitest(['run', '--project', project, '--passWithNoTests', ...workers, ...reporters, ...passedOn]);
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const result of existsSync(file) ? (parse(file) as Report).testResults : []) count(counts, result);
  // Errors outside of tests (a setup that failed, an unhandled rejection) show in the exit code alone.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

function count(counts: Counts, { name, status, assertionResults: tests }: Report['testResults'][number]): void {
  const perSuite = new Map<string, number>();
  for (const test of tests) {
    if (test.status === 'passed') counts.passed += 1;
    else if (test.status === 'failed') counts.failed += 1;
    else {
      counts.skipped += 1;
      const suite = test.ancestorTitles.find((title) => title !== '') ?? 'tests';
      perSuite.set(suite, (perSuite.get(suite) ?? 0) + 1);
    }
  }
  // A file that could not be loaded has no tests to fail.
  if (status === 'failed' && !tests.some((test) => test.status === 'failed')) counts.failed += 1;
  for (const [suite, tests] of perSuite) skips.push(`${relative(root, name)}: ${suite}, ${tests} tests`);
}

function vitest(args: readonly string[], output: 'inherit' | 'ignore' = 'inherit'): Promise<number> {
  const config = join(root, 'test/vitest.config.ts');
  const child = spawn(process.execPath, [vitestProgram, ...args, '--config', config], {
    cwd: root,
    stdio: ['ignore', output, output],
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function parse(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function indexesOf(token: { index: number; value?: unknown; inlineValue?: boolean | undefined }): number[] {
  return token.value === undefined || token.inlineValue === true ? [token.index] : [token.index, token.index + 1];
}
