import { describe, expect, it } from 'vitest';

import { type Effect, Ledger } from '../../../src/sandbox/ledger/ledger.ts';
import { markerOf } from '../../../src/sandbox/ledger/marker.ts';

import { bench } from './client.ts';

let seq = 0;
const effect = (key: string, n: number | undefined, requestId?: string): Effect => ({
  seq: ++seq,
  api: 'im.message.create',
  app: 'cli_a1',
  key,
  n,
  requestId,
  idempotencyKey: undefined,
  atMs: seq,
});
const ledgerOf = (...effects: Effect[]): Ledger => {
  const ledger = new Ledger(10);
  for (const each of effects) ledger.record(each);
  return ledger;
};

describe('ledger', () => {
  it('finds nothing wrong with numbers that rise per key, whatever the keys do to each other', () => {
    const ledger = ledgerOf(effect('a', 5), effect('b', 1), effect('a', 6), effect('b', 2), effect('a', 9));

    expect(ledger.verdict({ calls: { a: 3, b: 2 } })).toEqual({
      effects: 5,
      twice: 0,
      outOfOrder: 0,
      missing: 0,
      unmarked: 0,
    });
  });

  it('tells a doubled effect and shows it', () => {
    const ledger = ledgerOf(effect('a', 1), effect('a', 2), effect('a', 1));

    expect(ledger.verdict({ calls: 2 })).toMatchObject({ twice: 1, outOfOrder: 0, missing: 0 });
    expect(ledger.report(10).doubles).toMatchObject([{ key: 'a', n: 1 }]);
  });

  it('tells a swapped effect and shows it', () => {
    const ledger = ledgerOf(effect('a', 2), effect('a', 1), effect('a', 3));

    expect(ledger.verdict({ calls: 3 })).toMatchObject({ twice: 0, outOfOrder: 1, missing: 0 });
    expect(ledger.report(10).swaps).toMatchObject([{ key: 'a', n: 1 }]);
  });

  it('counts what is missing per key: a surplus of one key does not fill the gap of another', () => {
    const ledger = ledgerOf(effect('a', 1), effect('a', 2), effect('b', 1), effect('b', 1));

    expect(
      ledger.verdict({
        calls: new Map([
          ['a', 1],
          ['b', 2],
          ['c', 1],
        ]),
      }),
    ).toMatchObject({ missing: 2, twice: 1 });
    expect(ledger.verdict({ calls: 4 })).toMatchObject({ missing: 1 });
  });

  it('knows calls without a number by their request id, and says how many it cannot know', () => {
    const ledger = ledgerOf(
      effect('a', undefined, 'r1'),
      effect('a', undefined, 'r1'),
      effect('b', undefined, 'r1'),
      effect('a', undefined),
    );

    expect(ledger.verdict({ calls: 2 })).toEqual({ effects: 4, twice: 1, outOfOrder: 0, missing: 0, unmarked: 1 });
  });

  it('keeps only the latest effects in full', () => {
    const ledger = ledgerOf(...Array.from({ length: 25 }, (_, n) => effect('a', n)));

    expect(ledger.report(100).last.map(({ n }) => n)).toEqual([15, 16, 17, 18, 19, 20, 21, 22, 23, 24]);
    expect(ledger.report(2).last.map(({ n }) => n)).toEqual([23, 24]);
    expect(ledger.report(0).last).toEqual([]);
  });

  it.each([
    [{ text: 'key=K n=17' }, { key: 'K', n: 17 }],
    [{ text: 'order n=17, please' }, { key: 'oc_1', n: 17 }],
    [
      { key: 'K', n: 3, text: 'key=L n=4' },
      { key: 'K', n: 3 },
    ],
    [{ n: 0 }, { key: 'oc_1', n: 0 }],
    [{ n: -1 }, { key: 'oc_1', n: undefined }],
    [{ text: 'monkey=K min=17 n=1234567890' }, { key: 'oc_1', n: undefined }],
    ['report n=5.pdf', { key: 'oc_1', n: 5 }],
    [undefined, { key: 'oc_1', n: undefined }],
  ])('reads the marker of %j', (content, marker) => {
    expect(markerOf(content, 'oc_1')).toEqual(marker);
  });

  it('gives its verdict over HTTP: a doubled send without a key and a swapped pair are found', async () => {
    const b = await bench();
    for (const n of [1, 3, 2, 3]) await b.send('oc_1', n);
    await b.send('oc_2', 1);

    const asked = { method: 'POST', body: { calls: { oc_1: 4, oc_2: 1 } } } as const;
    expect((await b.ask('/_sandbox/verdict', asked)).json).toEqual({
      effects: 5,
      twice: 1,
      outOfOrder: 1,
      missing: 1,
      unmarked: 0,
    });
    expect((await b.ask('/_sandbox/verdict?calls=4')).json).toMatchObject({ missing: 0 });
    expect((await b.ask('/_sandbox/verdict')).status).toBe(400);
    expect((await b.ask('/_sandbox/effects?last=1')).json).toMatchObject({ effects: 5, last: [{ key: 'oc_2' }] });

    await b.ask('/_sandbox/reset', { method: 'POST' });
    expect(b.sandbox.verdict({ calls: 0 })).toMatchObject({ effects: 0, twice: 0, outOfOrder: 0 });
  });
});
