import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { demo, type DemoCommandOptions } from '../../../../src/cli/demo.ts';
import { type DemoParts, runDemo } from '../../../../src/runtime/demo/run-demo.ts';
import { openStores } from '../../../../src/runtime/open-stores.ts';
import type { Report } from '../../../../src/runtime/report.ts';

import { brokenSink, forgetfulSink, generousClaims, keylessSource, sandboxWith, yesSayer } from './mutants.ts';

const root = join(import.meta.dirname, '../../../..');
const patienceMs = 40_000;
const lastLine = (text: string): Report => JSON.parse(text.trimEnd().split('\n').at(-1)!) as Report;
const forever = new Promise(() => undefined);

/** Runs the demo as its command does, on a calm sandbox in memory unless said otherwise, with parts of it replaced. */
async function run(parts: Partial<DemoParts> = {}, options: Partial<DemoCommandOptions> = {}) {
  const texts = { out: '', err: '' };
  const screen = (name: 'out' | 'err') => ({ write: (text: string) => void (texts[name] += text) });
  const code = await demo(
    { calls: 60, keys: 12, seed: 7, data: 'memory', json: true, ...options },
    { out: screen('out'), err: screen('err'), stop: forever },
    { openStores, createSandbox: sandboxWith([]), ...parts },
  );
  const report = lastLine(texts.out);
  return { code, report, bars: Object.fromEntries(report.bars.map(({ name, value }) => [name, value])), ...texts };
}

describe.concurrent('larkspur demo', () => {
  it(
    'passes under its faults on the durable store, ends with 0, prints the report last and leaves nothing behind',
    async () => {
      const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
      const child = spawn(
        process.execPath,
        ['--import', 'tsx', 'src/cli/main.ts', 'demo', '--calls', '100', '--keys', '25', '--seed', '3', '--json'],
        { cwd: root, env: { PATH: process.env['PATH'], TMPDIR: temporary } },
      );
      let [out, err] = ['', ''];
      child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      const code = await new Promise((resolve) => child.on('close', resolve));

      expect([code, err]).toEqual([0, expect.stringContaining('PASS: 100 calls')]);
      const report = lastLine(out);
      expect(report).toMatchObject({ scenario: 'demo', pass: true, machine: { node: process.version } });
      expect(report.bars).toEqual([
        { name: 'lost', value: 0, atMost: 0, pass: true },
        { name: 'twice', value: 0, atMost: 0, pass: true },
        { name: 'outOfOrder', value: 0, atMost: 0, pass: true },
      ]);
      expect(report.figures).toMatchObject({ calls: 100, keys: 25, seed: 3, results: { ok: 100 }, deadLetters: {} });
      expect(Object.values(report.figures['faults'] as object).length).toBeGreaterThan(0);
      expect(readdirSync(temporary).filter((name) => name.startsWith('larkspur-'))).toEqual([]);
      rmSync(temporary, { recursive: true });
    },
    patienceMs,
  );

  it(
    'fails when the store acknowledges a result and does not keep it',
    async () => {
      const { code, report, bars, err } = await run({ openStores: forgetfulSink });

      expect([code, report.pass]).toEqual([1, false]);
      expect(bars).toEqual({ lost: 1, twice: 0, outOfOrder: 0 });
      expect(err).toContain('✘ 1 lost');
      expect(err).toContain('FAIL');
    },
    patienceMs,
  );

  it(
    'fails when the platform says yes to every write and does nothing',
    async () => {
      const { code, report, bars } = await run({ createSandbox: yesSayer });

      const { writes } = report.figures;
      expect(writes).toBeGreaterThan(30);
      expect([code, bars]).toEqual([1, { lost: writes, twice: 0, outOfOrder: 0 }]);
    },
    patienceMs,
  );

  it(
    'fails when the platform forgets its keys, so that the repeat of a write acts again',
    async () => {
      const faults = [{ kind: 'reset-after', match: { everyNth: 12 } }] as const;
      const { code, bars } = await run({ createSandbox: sandboxWith(faults, { replayMs: 0 }) });

      expect([code, bars['lost'], bars['outOfOrder']]).toEqual([1, 0, 0]);
      expect(bars['twice']).toBeGreaterThan(0);
    },
    patienceMs,
  );

  it(
    'fails when claims are granted to everybody and a record comes twice',
    async () => {
      const { code, bars } = await run({ openStores: generousClaims }, { calls: 36 });

      expect([code, bars['lost'], bars['twice']]).toEqual([1, 0, 36]);
    },
    patienceMs,
  );

  it(
    'fails when lanes do not see which calls belong together',
    async () => {
      const faults = [{ kind: '503', match: { everyNth: 5 } }] as const;
      const { code, bars } = await run({ openStores: keylessSource, createSandbox: sandboxWith(faults) });

      expect([code, bars['lost'], bars['twice']]).toEqual([1, 0, 0]);
      expect(bars['outOfOrder']).toBeGreaterThan(0);
    },
    patienceMs,
  );

  it(
    'ends at once when its worker fails, and looks no more',
    async () => {
      let looks = 0;
      const watch = { started: () => undefined, progress: () => (looks += 1), stop: forever };
      const options = { calls: 60, keys: 12, seed: 7, data: 'memory' };
      const parts = { openStores: brokenSink, createSandbox: sandboxWith([]) };
      await expect(runDemo(options, watch, parts)).rejects.toThrow('the disk is gone');
      const before = looks;
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(looks).toBe(before);
    },
    patienceMs,
  );

  it(
    'ends early when it is told to, says so and checks nothing',
    async () => {
      let text = '';
      let stop: (value: unknown) => void = () => undefined;
      const screen = {
        isTTY: true,
        write(more: string) {
          text += more;
          if (more.includes('of 5,000')) stop('SIGINT');
        },
      };
      const stopped = new Promise((resolve) => {
        stop = resolve;
      });
      const code = await demo(
        { calls: 5_000, keys: 50, seed: 1, data: 'memory' },
        { out: screen, err: screen, stop: stopped },
      );

      expect(code).toBe(130);
      expect(text).toMatch(/stopped after \d+ of 5000 calls; nothing was checked/);
      expect(text).not.toContain('PASS');
    },
    patienceMs,
  );
});
