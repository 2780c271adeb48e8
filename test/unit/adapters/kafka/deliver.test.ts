import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';

import type { FetchedBatch } from '../../../../src/adapters/kafka/alarms.ts';
import { deliver, deliverRest, type Receiver } from '../../../../src/adapters/kafka/deliver.ts';
import type { Held } from '../../../../src/adapters/kafka/partition-table.ts';
import { unreadable } from '../../../../src/adapters/kafka/unreadable.ts';

const bytes = 1_000;

function message(offset: number): KafkaMessage {
  const value = Buffer.alloc(bytes);
  return { key: null, value, timestamp: '0', attributes: 0, offset: `${offset}`, headers: {} };
}

/** A batch of a partition, whose end may lie beyond its last message. */
function batchOf(messages: readonly KafkaMessage[], end = Number(messages.at(-1)?.offset)): FetchedBatch {
  const batch = { topic: 'p.calls', partition: 3, messages, highWatermark: '999', lastOffset: () => `${end}` };
  return batch as unknown as FetchedBatch;
}

/** A partition that is paused once it has seen the offsets in `pauses`. */
function partition(pauses: readonly number[] = [], maxRestBytes = 1_000_000) {
  const held: Held = { assigned: { topic: 'calls', partition: 3, epoch: 1 }, next: 0, paused: false, rest: undefined };
  const seen: number[] = [];
  let open = true;
  const receiver: Receiver = {
    maxRestBytes,
    takes: () => open,
    emit: (event) => {
      if (event.kind !== 'record') return;
      seen.push(event.record.offset);
      if (pauses.includes(event.record.offset)) held.paused = true;
    },
  };
  const goOn = (): boolean => {
    if (held.rest === undefined) throw new Error('nothing was kept');
    held.paused = false;
    return deliverRest(held, held.rest, receiver);
  };
  return { held, seen, receiver, goOn, leave: () => (open = false) };
}

const numbers = (from: number, until: number) => Array.from({ length: until - from }, (_, n) => from + n);

describe('deliver', () => {
  it('delivers all from where the partition stands, and knows the end of a batch with gaps', () => {
    const { held, seen, receiver } = partition();
    held.next = 4;
    expect(deliver(held, batchOf([2, 4, 7].map(message), 9), receiver)).toEqual({ taken: '9' });
    expect([seen, held.next, held.rest]).toEqual([[4, 7], 10, undefined]);
  });

  it('keeps what is left when the partition is paused, and goes on there, as often as it takes', () => {
    const { held, seen, receiver, goOn } = partition([2, 5]);
    expect(deliver(held, batchOf(numbers(0, 8).map(message), 11), receiver)).toEqual({ taken: '11' });
    expect([seen, held.next]).toEqual([numbers(0, 3), 3]);
    expect([goOn(), seen, held.next]).toEqual([false, numbers(0, 6), 6]);
    expect([goOn(), seen, held.next, held.rest]).toEqual([true, numbers(0, 8), 12, undefined]);
  });

  it('keeps as much as its bytes allow; the next fetch begins with what was left out', () => {
    const { held, seen, receiver, goOn } = partition([1], 3.7 * bytes);
    expect(deliver(held, batchOf(numbers(0, 8).map(message), 11), receiver)).toEqual({ taken: '4' });
    expect([goOn(), seen, held.next, held.rest]).toEqual([true, numbers(0, 5), 5, undefined]);
  });

  it('keeps nothing when the next message alone is too large', () => {
    const { held, receiver } = partition([1], bytes);
    expect(deliver(held, batchOf(numbers(0, 4).map(message)), receiver)).toEqual({ taken: '1' });
    expect([held.next, held.rest]).toEqual([2, undefined]);
  });

  it('keeps nothing of what was fetched but the records themselves', () => {
    const { held, receiver } = partition([0]);
    const pool = Buffer.alloc(1_000_000);
    const sliced = numbers(0, 3).map((n) => ({ ...message(n), value: pool.subarray(n * bytes, (n + 1) * bytes) }));
    deliver(held, batchOf(sliced), receiver);
    expect(held.rest?.records.map(({ value }) => value?.buffer === pool.buffer)).toEqual([false, false]);
    expect(Object.keys(held.rest ?? {}).sort()).toEqual(['at', 'last', 'records']);
  });

  it('stops before what cannot be read, and keeps nothing from there on: it comes again', () => {
    const broken = unreadable('a checksum', Buffer.alloc(61), 0) as KafkaMessage;
    const at = partition();
    expect(deliver(at.held, batchOf([message(0), broken], 1), at.receiver)).toMatchObject({
      taken: '0',
      broken: expect.stringContaining('checksum') as string,
    });
    const paused = partition([0]);
    expect(deliver(paused.held, batchOf([message(0), message(1), broken], 2), paused.receiver)).toEqual({ taken: '1' });
    expect([paused.goOn(), paused.seen, paused.held.next]).toEqual([true, [0, 1], 2]);
  });

  it('a receiver that leaves gets nothing more, and nothing is kept for it', () => {
    const { held, seen, receiver, leave } = partition();
    const leaving: Receiver = {
      ...receiver,
      emit: (event) => {
        receiver.emit(event);
        leave();
      },
    };
    expect(deliver(held, batchOf(numbers(0, 4).map(message)), leaving)).toEqual({ taken: '0' });
    expect([seen, held.next, held.rest]).toEqual([[0], 1, undefined]);
  });
});
