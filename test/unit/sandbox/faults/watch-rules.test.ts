import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { type FaultRule, parseRules } from '../../../../src/sandbox/faults/fault-rule.ts';
import { watchRules } from '../../../../src/sandbox/faults/watch-rules.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';
import { bench } from '../client.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'larkspur-faults-'));
  return () => rm(folder, { recursive: true });
});

/** Watches a file and tells what was applied last. */
async function watched(file: string) {
  const time = new VirtualTime();
  const applied: string[][] = [];
  const watch = await watchRules(file, time, parseRules, (rules: readonly FaultRule[]) =>
    applied.push(rules.map(({ kind }) => kind)),
  );
  onTestFinished(() => watch.stop());
  // Each look reads the file for real and then arms the next timer.
  const look = async () => {
    time.advance(1_000);
    await vi.waitFor(() => expect(time.pending).toBe(1), { interval: 5 });
  };
  return { time, watch, applied, look };
}

describe('watchRules', () => {
  it('S000-78: follows a mounted ConfigMap, whose link is swapped two levels up, in less than 5 s', async () => {
    const version = async (name: string, content: string) => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'faults.yaml'), content);
      await symlink(name, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await version('..v1', 'rules:\n  - kind: "503"\n    rate: 0.1\n');
    await symlink(join('..data', 'faults.yaml'), join(folder, 'faults.yaml'));
    const { time, applied, look } = await watched(join(folder, 'faults.yaml'));
    expect(applied).toEqual([['503']]);

    await version('..v2', '{"rules":[{"kind":"429","resetSeconds":2},{"kind":"hang"}]}');
    const changedAtMs = time.now();
    await look();
    expect(applied).toEqual([['503'], ['429', 'hang']]);
    expect(time.now() - changedAtMs).toBeLessThan(5_000);
  });

  it('keeps the rules before a mistake and says what is wrong, until the file is right again', async () => {
    const file = join(folder, 'faults.json');
    await writeFile(file, '[{"kind":"503"}]');
    const { applied, look, watch } = await watched(file);

    await writeFile(file, '[{"kind":"504"}]');
    await look();
    expect(watch.mistakes[0]).toMatch(/^rules\[0\]\.kind: must be one of timeout/);
    await writeFile(file, '[{"kind":');
    await look();
    expect(watch.mistakes).toHaveLength(1);
    expect(applied).toEqual([['503']]);

    await writeFile(file, '[{"kind":"quota"}]');
    await look();
    expect(watch.mistakes).toEqual([]);
    expect(applied).toEqual([['503'], ['quota']]);
  });

  it('does not apply an unchanged file again, and takes an absent one as no rules', async () => {
    const file = join(folder, 'faults.json');
    const { applied, look } = await watched(file);
    await writeFile(file, '[{"kind":"503"}]');
    await look();
    await look();
    await rm(file);
    await look();

    expect(applied).toEqual([[], ['503'], []]);
  });

  it('S000-78: a running sandbox changes its fault when the file changes, without restart', async () => {
    const faultsFile = join(folder, 'faults.json');
    await writeFile(faultsFile, '[{"kind":"503"}]');
    const b = await bench({ faultsFile });
    expect((await b.send('oc_1', 1)).status).toBe(503);

    await writeFile(faultsFile, '[{"kind":"502-html"}]');
    b.time.advance(1_000);
    await vi.waitFor(() => expect(b.sandbox.faults().rules).toEqual([{ kind: '502-html' }]));
    expect((await b.send('oc_1', 1)).status).toBe(502);
  });
});
