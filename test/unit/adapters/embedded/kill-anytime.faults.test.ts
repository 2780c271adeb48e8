import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { firstValueFrom, toArray } from 'rxjs';
import { expect, it, onTestFinished } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../../../src/adapters/system/clock.ts';
import type { DeadLetterHistory } from '../../../../src/model/dead-letter.ts';
import { headerText } from '../../../../src/model/record.ts';
import type { Result } from '../../../../src/model/result.ts';
import { topicDeclarations } from '../../../../src/model/topics.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { FolderProcess } from '../../../support/embedded/folder-process.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

const [keys, perKey, kills] = [30, 30, 6];
const plain = 200;
const records = keys * perKey + plain;

/** A message with a key that Feishu knows, or a plain POST that nobody can recognise. */
const keyed = (key: number, n: number) => ({
  id: `m-${key}-${n}`,
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: `oc_${key}`, msg_type: 'text', content: JSON.stringify({ text: `n=${n}` }) },
});
const unkeyed = (n: number) => ({
  id: `p-${n}`,
  upstream: 'plain',
  path: `/k${n % 50}`,
  query: { delayMs: 5 },
  body: { n },
});

it('S000-36: killed at any moment, again and again, a worker loses nothing, doubles nothing and keeps the order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-kill-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const sandbox = await createSandbox({ seed: 1, settings: { tierMode: 'off', chatPerSecond: 0, latencyMs: 10 } });
  onTestFinished(() => sandbox.close());
  const openHere = () =>
    openEmbedded({
      data: folder,
      clock: systemClock,
      timers: systemTimers,
      logger: noLogger,
      topics: topicDeclarations,
    });

  const before = openHere();
  const calls = [
    ...Array.from({ length: keys * perKey }, (_, i) => keyed(i % keys, Math.floor(i / keys))),
    ...Array.from({ length: plain }, (_, n) => unkeyed(n)),
  ];
  const random = seededRandom(4);
  await Promise.all(
    calls.map((call) =>
      only(
        before.sink.append({
          topic: 'calls',
          key: Buffer.from('upstream' in call ? call.path : call.body.receive_id),
          value: Buffer.from(JSON.stringify(call)),
          headers: [],
        }),
      ),
    ),
  );
  await before.close();

  const live = (): FolderProcess => new FolderProcess(folder, { sandboxUrl: sandbox.url, records });
  for (let round = 0; round < kills; round++) {
    const worker = live();
    const enough = sandbox.effects().effects + 1 + Math.floor(random.next() * 100);
    while (sandbox.effects().effects < enough) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, random.next() * 20));
    await worker.kill9();
  }
  const last = live();
  await last.until((lines) => lines.includes('done'));
  await last.kill9();

  const after = openHere();
  const results = (await firstValueFrom(after.tail('results', { last: 1e6, follow: false }).pipe(toArray()))).map(
    ({ value }) => JSON.parse(String(value)) as Result,
  );
  const letters = (await firstValueFrom(after.tail('dead-letters', { last: 1e6, follow: false }).pipe(toArray()))).map(
    ({ headers }) => JSON.parse(headerText(headers, 'larkspur-history') ?? '') as DeadLetterHistory,
  );
  await after.close();

  const ended = new Set([...results.map(({ id }) => id), ...letters.map(({ id }) => id)]);
  expect(ended.size).toBe(records);
  // Of the calls with a key none is missing and none was made twice; of those without one none was made twice, and those
  // whose outcome nobody knows are reported as such.
  const unknown = letters.map(({ id, reason }) => `${reason} ${id?.charAt(0)}`);
  expect(new Set(unknown)).toEqual(new Set(unknown.length === 0 ? [] : ['outcome_unknown p']));
  const expected = Object.fromEntries(Array.from({ length: keys }, (_, key) => [`oc_${key}`, perKey]));
  expect(sandbox.verdict({ calls: expected })).toMatchObject({ missing: 0, twice: 0, outOfOrder: 0 });
  // A record that was written again after a crash is the same record.
  const byId = new Map<string, string>();
  for (const result of results) {
    const text = JSON.stringify(result);
    expect(byId.get(result.id) ?? text).toBe(text);
    byId.set(result.id, text);
  }
}, 120_000);
