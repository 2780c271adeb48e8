import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import { topicDeclarations } from '../../../src/model/topics.ts';
import { tail } from '../../../src/runtime/tail.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { noLogger } from '../../support/silent.ts';

const files = new ConfigFiles();
const data = mkdtempSync(join(tmpdir(), 'larkspur-tail-'));
afterAll(() => {
  files.remove();
  rmSync(data, { recursive: true });
});

it('points to the admin port of the process that holds the folder', async () => {
  const machine = { clock: systemClock, timers: systemTimers, logger: noLogger };
  const holder = openEmbedded({ data, topics: topicDeclarations, ...machine });
  const { config } = files.load(`data: ${data}\nlisten: { admin: "127.0.0.1:9999" }`);
  const request = { topic: 'results', last: 7, follow: false, stop: new Promise(() => undefined) };

  await expect(tail(config, noLogger, request, () => undefined)).rejects.toMatchObject({
    code: 'data_folder_locked',
    cure: expect.stringContaining('http://127.0.0.1:9999/admin/topics/results/tail?last=7') as string,
  });
  await holder.close();
  await tail(config, noLogger, request, () => undefined);
});
