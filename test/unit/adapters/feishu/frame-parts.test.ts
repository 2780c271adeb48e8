import { describe, expect, it } from 'vitest';

import { FrameParts } from '../../../../src/adapters/feishu/link/frame-parts.ts';
import type { LinkFrame } from '../../../../src/model/link-frame.ts';

const half = 524_288;
const part = (id: string, seq: number, sum: number, bytes: number): LinkFrame => ({
  ...{ seqId: 1n, logId: 1n, service: 1, method: 'data', payload: Buffer.alloc(bytes, id) },
  headers: Object.entries({ type: 'event', message_id: id, sum: String(sum), seq: String(seq) }),
});

describe('messages in parts', () => {
  it('take 1 MiB each, and what still comes of a larger one begins none', () => {
    const parts = new FrameParts();
    parts.join(part('a', 0, 2, half), 0);
    expect(parts.join(part('a', 1, 2, half), 0)).toHaveLength(2 * half);
    parts.join(part('b', 0, 3, half), 0);
    parts.join(part('b', 1, 3, half + 1), 0);
    const late = [2, 0, 1].map((seq) => parts.join(part('b', seq, 3, 1), 0));
    expect(late).toEqual([undefined, undefined, undefined]);
    // It is remembered no longer than an unfinished one.
    expect([0, 1, 2].map((seq) => parts.join(part('b', seq, 3, 1), 5_001)?.length)).toEqual([undefined, undefined, 3]);
  });

  it('take 4 MiB together: of more than that the oldest are dropped, and the others come whole', () => {
    const parts = new FrameParts();
    const ids = Array.from({ length: 9 }, (_, index) => `m${index}`);
    for (const id of ids) parts.join(part(id, 0, 2, half), 0);
    // A part that comes twice counts once.
    for (const id of ids.slice(5)) parts.join(part(id, 0, 2, half), 0);
    expect(ids.map((id) => parts.join(part(id, 1, 2, 1), 0)?.length)).toEqual([
      undefined,
      ...ids.slice(1).map(() => half + 1),
    ]);
    // What was joined or dropped makes room.
    for (const id of ids) parts.join(part(`${id}+`, 0, 2, half - 1), 0);
    expect(parts.join(part('m1+', 1, 2, 1), 0)).toHaveLength(half);
  });
});
