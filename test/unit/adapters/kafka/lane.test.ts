import { describe, expect, it } from 'vitest';

import { Lane } from '../../../../src/adapters/kafka/lane.ts';
import type { Stored } from '../../../../src/adapters/kafka/producers.ts';
import { SendGate } from '../../../../src/adapters/kafka/send-gate.ts';
import type { OutRecord } from '../../../../src/model/record.ts';
import type { Ack } from '../../../../src/ports/record-sink.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

class TooLarge extends Error {}

/** A partition that fails as told: the n-th send with the n-th entry, if there is one. */
function stage(
  options: {
    gate?: (time: VirtualTime) => SendGate;
    failures?: (Error | undefined)[];
    tooLarge?: (value: string) => boolean;
    storedAtMs?: number;
  } = {},
) {
  const time = new VirtualTime();
  const sends: string[][] = [];
  const log: string[] = [];
  const acks = new Map<string, Ack>();
  let outstanding = 0;
  let mostOutstanding = 0;
  const send = async (records: readonly OutRecord[]): Promise<Stored> => {
    const values = records.map(({ value }) => String(value));
    const failure = options.failures?.[sends.length];
    sends.push(values);
    mostOutstanding = Math.max(mostOutstanding, ++outstanding);
    await new Promise<void>((resolve) => void time.after(10, resolve));
    outstanding -= 1;
    if (failure !== undefined) throw failure;
    if (values.some((value) => options.tooLarge?.(value))) throw new TooLarge();
    const offset = log.length;
    log.push(...values);
    return options.storedAtMs === undefined ? { offset } : { offset, storedAtMs: options.storedAtMs };
  };
  const waits: number[] = [];
  const state = { written: undefined as number | undefined };
  const lane = new Lane(3, {
    send,
    gate: options.gate?.(time) ?? new SendGate(1, time),
    isTooLarge: (error) => error instanceof TooLarge,
    limitBytes: () => Promise.resolve(1_000),
    onFailure: (_, waitMs) => waits.push(waitMs),
    timers: time,
    random: { next: () => 1 },
  });
  const push = (...values: string[]) => {
    for (const value of values) {
      lane.push({
        bytes: value.length,
        write: { record: recordOf(value), sinceMs: time.now(), acknowledge: (ack) => acks.set(value, ack) },
        written: () => Promise.resolve(state.written),
      });
    }
  };
  return { time, sends, log, acks, waits, state, lane, push, most: () => mostOutstanding };
}

const recordOf = (value: string): OutRecord => ({ topic: 't', key: null, value: Buffer.from(value), headers: [] });

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

describe('Lane', () => {
  it('hands on the date that the broker gave to all that went together, and none where it gave none', async () => {
    const dated = stage({ storedAtMs: 1_767_225_600_123 });
    dated.push('a', 'b');
    await dated.time.advanceAsync(100);
    expect([...dated.acks.values()].map((ack) => ack.kind === 'written' && ack.storedAtMs)).toEqual([
      1_767_225_600_123, 1_767_225_600_123,
    ]);
    const undated = stage();
    undated.push('a');
    await undated.time.advanceAsync(100);
    expect(undated.acks.get('a')).toEqual({ kind: 'written', partition: 3, offset: 0 });
  });

  it('says since when its first record waits, until none does: written, or found written after a failure', async () => {
    const { time, lane, sends, acks, push, state } = stage({ failures: [undefined, new Error('the answer was lost')] });
    await time.advanceAsync(100);
    push('a');
    expect(lane.waitsSinceMs).toBe(100);
    await time.advanceAsync(1_000);
    expect(lane.waitsSinceMs).toBeUndefined();
    push('b');
    await time.advanceAsync(0);
    push('c');
    expect(lane.waitsSinceMs).toBe(1_100);
    state.written = 41;
    await time.advanceAsync(1_000);
    expect(sends).toEqual([['a'], ['b'], ['c']]);
    expect(acks.get('b')).toEqual({ kind: 'written', partition: 3, offset: 41 });
    expect(lane.waitsSinceMs).toBeUndefined();
  });

  it('sends together what is pushed in one turn, and what queued meanwhile with the next send', async () => {
    const { time, sends, push, most } = stage();
    push('a', 'b');
    await time.advanceAsync(5);
    push('c');
    push('d');
    await time.advanceAsync(30);
    expect(sends).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    expect(most()).toBe(1);
  });

  it('acknowledges each record with its own offset', async () => {
    const { time, acks, push } = stage();
    push('a', 'b');
    await time.advanceAsync(20);
    push('c');
    await time.advanceAsync(20);
    expect([...acks.values()]).toEqual([0, 1, 2].map((offset) => ({ kind: 'written', partition: 3, offset })));
  });

  it('D10: takes at most 500 records and 512 KiB at a time', async () => {
    const { time, sends, push } = stage();
    push(...many(1_200));
    await time.advanceAsync(100);
    expect(sends.map((send) => send.length)).toEqual([500, 500, 200]);
    const large = stage();
    large.push(...[1, 2, 3].map((n) => String(n).repeat(200 * 1024)));
    await large.time.advanceAsync(100);
    expect(large.sends.map((send) => send.length)).toEqual([2, 1]);
  });

  it('K4, K34: repeats a failed send in its place, for ever, with waits that grow to 5 s', async () => {
    const failures = Array.from({ length: 8 }, () => new Error('away'));
    const { time, log, waits, push } = stage({ failures });
    push('a');
    await time.advanceAsync(15);
    push('b');
    await time.advanceAsync(60_000);
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
    expect(log).toEqual(['a', 'b']);
  });

  it('finds the one record that is too large, refuses it alone, and writes the others in order', async () => {
    const { time, acks, log, push } = stage({ tooLarge: (value) => value === 'r137' });
    push(...many(300));
    await time.advanceAsync(1_000);
    expect(acks.get('r137')).toEqual({ kind: 'too-large', limitBytes: 1_000 });
    expect(log).toEqual(many(300).filter((value) => value !== 'r137'));
    expect(acks.size).toBe(300);
  });

  it('sends nothing any more once it is closed', async () => {
    const { time, sends, lane, push } = stage({ failures: [new Error('away')] });
    push('a');
    await time.advanceAsync(5);
    lane.close();
    push('b');
    await time.advanceAsync(60_000);
    expect(sends).toEqual([['a']]);
  });

  it('sends nothing that waited at the gate when it was closed: its producer would be left behind', async () => {
    let gate: SendGate | undefined;
    const { time, sends, lane, push } = stage({ gate: (at) => (gate = new SendGate(1, at)) });
    const leave = await gate?.enter();
    push('a');
    await time.advanceAsync(1);
    lane.close();
    leave?.();
    await time.advanceAsync(1_000);
    expect(sends).toEqual([]);
    expect(await gate?.enter()).toBeTypeOf('function');
  });

  it('a record that must not stand twice is not sent again when an attempt in vain had written it', async () => {
    const { time, sends, acks, lane } = stage({ failures: [new Error('answer lost')] });
    const asked: string[] = [];
    const once = (value: string, offset: number | undefined) =>
      lane.push({
        bytes: 1,
        write: { record: recordOf(value), sinceMs: 0, acknowledge: (ack) => acks.set(value, ack) },
        written: () => {
          asked.push(value);
          return Promise.resolve(offset);
        },
      });
    once('there', 7);
    once('gone', undefined);
    await time.advanceAsync(1_000);

    expect(asked).toEqual(['there', 'gone']);
    expect(sends).toEqual([['there', 'gone'], ['gone']]);
    expect(acks.get('there')).toEqual({ kind: 'written', partition: 3, offset: 7 });
    expect(acks.get('gone')).toMatchObject({ kind: 'written' });
  });
});
