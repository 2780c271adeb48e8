import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

import { EmbeddedHarness } from '../support/embedded/harness.ts';

import { recordSinkSuite } from './record-sink.suite.ts';
import { recordSourceSuite } from './record-source.suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-records-'));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;
const onDisk = (): Promise<EmbeddedHarness> => Promise.resolve(new EmbeddedHarness(join(folder, String(folders++))));
const inMemory = (): Promise<EmbeddedHarness> => Promise.resolve(new EmbeddedHarness('memory'));

recordSourceSuite('memory', inMemory);
recordSourceSuite('LMDB', onDisk);
recordSinkSuite('memory', inMemory);
recordSinkSuite('LMDB', onDisk);
