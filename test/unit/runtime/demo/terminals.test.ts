import { EMPTY, of } from 'rxjs';
import { expect, it } from 'vitest';

import type { InRecord } from '../../../../src/model/record.ts';
import { readTerminals } from '../../../../src/runtime/demo/terminals.ts';
import type { Stores } from '../../../../src/runtime/stores.ts';

const beginMs = Date.UTC(2026, 10, 1);
const attempt = (verdict: string, atMs: number, ms = 100) => ({
  ...{ class: verdict, ms, started: new Date(beginMs + atMs).toISOString() },
});

/** What is read of one terminal record that was written so long after the begin. */
async function read(topic: 'results' | 'dead-letters', writtenMs: number, what: object) {
  const value = Buffer.from(JSON.stringify({ id: 'a', ...what }));
  const record: InRecord = {
    ...{ topic, partition: 0, offset: 0, key: null, timestampMs: beginMs + writtenMs },
    ...{ value, headers: topic === 'results' ? [] : [['larkspur-history', value]] },
  };
  const stores = { tail: (name: string) => (name === topic ? of(record) : EMPTY) } as unknown as Stores;
  return (await readTerminals(stores))[0];
}

it('tells how long a call took to recover, also over a wait outside, after which its record was read anew', async () => {
  const held = [attempt('retryable', 0), attempt('success', 15_000)];
  const result = { status: 'ok', attempts: held, timing: { totalMs: 110 } };

  expect(await read('results', 15_100, result)).toMatchObject({ totalMs: 15_100, recoverMs: 15_000 });
});

it('a call that ended as a dead letter took until then, and one without a failed attempt had nothing to recover from', async () => {
  const failed = [attempt('retryable', 0), attempt('retryable', 2_000)];
  const well = { status: 'ok', attempts: [attempt('success', 50)], timing: { totalMs: 155 } };

  expect(await read('dead-letters', 9_000, { reason: 'attempts_exhausted', attempts: failed })).toMatchObject({
    ...{ ending: 'attempts_exhausted', totalMs: undefined, recoverMs: 8_900 },
  });
  expect(await read('results', 150, well)).toMatchObject({ totalMs: 155, recoverMs: undefined });
});
