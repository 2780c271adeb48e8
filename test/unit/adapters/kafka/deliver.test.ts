import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';

import type { FetchedBatch } from '../../../../src/adapters/kafka/alarms.ts';
import { deliver } from '../../../../src/adapters/kafka/deliver.ts';
import { type Fetched, lastOf } from '../../../../src/adapters/kafka/fetched.ts';
import type { Held } from '../../../../src/adapters/kafka/partition-table.ts';
import { unreadable } from '../../../../src/adapters/kafka/unreadable.ts';

const bytes = 1_000;

function message(offset: number): KafkaMessage {
  const value = Buffer.alloc(bytes);
  return { key: null, value, timestamp: '0', attributes: 0, offset: `${offset}`, headers: {} };
}

/** A batch of a partition, whose end may lie beyond its last message. */
function fetched(messages: readonly KafkaMessage[], end = Number(messages.at(-1)?.offset)): Fetched {
  const batch = { topic: 'p.calls', partition: 3, messages, highWatermark: '999', lastOffset: () => `${end}` };
  return { batch: batch as unknown as FetchedBatch, at: 0, until: messages.length };
}

/** A partition that is paused once it has seen the offsets in `pauses`. */
function partition(pauses: readonly number[] = [], maxRestBytes = 1_000_000) {
  const held: Held = { assigned: { topic: 'calls', partition: 3, epoch: 1 }, next: 0, paused: false, rest: undefined };
  const seen: number[] = [];
  let open = true;
  const receiver = {
    maxRestBytes,
    takes: () => open,
    emit: (event: { kind: string; record?: { offset: number } }) => {
      const offset = event.record?.offset ?? NaN;
      seen.push(offset);
      if (pauses.includes(offset)) held.paused = true;
    },
  };
  const goOn = (rest: Fetched) => {
    held.paused = false;
    return deliver(held, rest, receiver);
  };
  return { held, seen, receiver, goOn, leave: () => (open = false) };
}

const numbers = (from: number, until: number) => Array.from({ length: until - from }, (_, n) => from + n);

describe('deliver', () => {
  it('delivers all from where the partition stands, and knows the end of a batch with gaps', () => {
    const { held, seen, receiver } = partition();
    held.next = 4;
    expect(deliver(held, fetched([2, 4, 7].map(message), 9), receiver)).toEqual({ taken: '9' });
    expect([seen, held.next, held.rest]).toEqual([[4, 7], 10, undefined]);
  });

  it('keeps what is left when the partition is paused, and goes on there, as often as it takes', () => {
    const { held, seen, receiver, goOn } = partition([2, 5]);
    const all = fetched(numbers(0, 8).map(message), 11);
    expect(deliver(held, all, receiver)).toEqual({ taken: '11' });
    expect([seen, held.next]).toEqual([numbers(0, 3), 3]);
    expect(held.rest && lastOf(held.rest)).toBe('11');
    expect(goOn(held.rest ?? all)).toEqual({ taken: '11' });
    expect([seen, held.next]).toEqual([numbers(0, 6), 6]);
    expect(goOn(held.rest ?? all)).toEqual({ taken: '11' });
    expect([seen, held.next, held.rest]).toEqual([numbers(0, 8), 12, undefined]);
  });

  it('keeps as much as its bytes allow; the next fetch begins with what was left out', () => {
    const { held, seen, receiver, goOn } = partition([1], 3.5 * bytes);
    expect(deliver(held, fetched(numbers(0, 8).map(message), 11), receiver)).toEqual({ taken: '4' });
    const { rest } = held;
    if (rest === undefined) throw new Error('nothing was kept');
    expect(goOn(rest)).toEqual({ taken: '4' });
    expect([seen, held.next, held.rest]).toEqual([numbers(0, 5), 5, undefined]);
  });

  it('keeps nothing when the next message alone is too large', () => {
    const { held, receiver } = partition([1], bytes);
    expect(deliver(held, fetched(numbers(0, 4).map(message)), receiver)).toEqual({ taken: '1' });
    expect([held.next, held.rest]).toEqual([2, undefined]);
  });

  it('stops before what cannot be read, also in what was kept', () => {
    const { held, seen, receiver, goOn } = partition([0]);
    const broken = unreadable('a checksum', Buffer.alloc(61), 0) as KafkaMessage;
    const all = fetched([message(0), message(1), broken], 2);
    expect(deliver(held, all, receiver)).toEqual({ taken: '2' });
    expect(goOn(held.rest ?? all)).toMatchObject({ taken: '1', broken: expect.stringContaining('checksum') as string });
    expect([seen, held.next, held.rest]).toEqual([[0, 1], 2, undefined]);
  });

  it('a receiver that leaves gets nothing more, and nothing is kept for it', () => {
    const { held, seen, receiver, leave } = partition();
    const leaving = {
      ...receiver,
      emit: (event: { kind: string; record?: { offset: number } }) => {
        receiver.emit(event);
        leave();
      },
    };
    expect(deliver(held, fetched(numbers(0, 4).map(message)), leaving)).toEqual({ taken: '0' });
    expect([seen, held.next, held.rest]).toEqual([[0], 1, undefined]);
  });
});
