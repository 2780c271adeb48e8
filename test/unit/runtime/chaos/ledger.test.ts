import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readScenario } from '../../../../src/config/scenario.ts';
import { drill } from '../../../../src/runtime/chaos/drill.ts';
import { addRun, type ChaosRun, openLedger, readRuns, reportOfRuns } from '../../../../src/runtime/chaos/ledger.ts';
import { ConfigFiles } from '../../../support/config-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'larkspur-ledger-'));
});
afterEach(() => rm(folder, { recursive: true }));

const run = (id: string): ChaosRun => ({
  ...{ id, scenario: 's', hypothesis: 'h', target: 'sandbox', startedAt: '2026-01-01T00:00:00.000Z', durationMs: 1 },
  ...{ by: 'ana', seed: 1, forced: false, verdict: 'confirmed', bars: [], figures: {}, findings: [] },
});

describe('the ledger of runs', () => {
  it('loses the line that a crash cut off, and no other; what is no run is passed over', async () => {
    const file = join(folder, 'runs', 'chaos.jsonl');
    await openLedger(file);
    await addRun(file, run('a'));
    await appendFile(file, JSON.stringify(run('cut')).slice(0, 40));
    await addRun(file, run('b'));
    await appendFile(file, '{"id":"x","scenario":"without bars"}\n7\n');
    await addRun(file, run('c'));
    const runs = await readRuns(file);
    expect(runs.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(reportOfRuns(runs).runs).toHaveLength(3);
    expect((await readFile(file, 'utf8')).endsWith('\n')).toBe(true);
  });

  it('that cannot be written lets nothing be hurt', async () => {
    await writeFile(join(folder, 'file'), '');
    const files = new ConfigFiles();
    const scenario = readScenario(
      `{ name: s, hypothesis: h, target: workers, blastRadius: { upstreams: [news] }, faults: [{ kind: '503' }], expect: [{ figure: faults, atLeast: 1 }] }`,
      'scenario',
    );
    let asked = 0;
    const worker = createServer((_, response) => {
      asked++;
      response.end('{}');
    });
    await new Promise<void>((resolve) => worker.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(worker.address() as AddressInfo).port}`;
    const options = { config: files.load('{}').config, urls: [url], force: true, seed: 1, by: 'ana' };
    await expect(drill(scenario, { ...options, ledger: join(folder, 'file', 'chaos.jsonl') })).rejects.toThrow(
      /ENOTDIR|EEXIST/,
    );
    expect(asked).toBe(0);
    worker.close();
    files.remove();
  });
});
