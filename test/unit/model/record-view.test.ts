import { describe, expect, it } from 'vitest';

import { Cover } from '../../../src/model/cover.ts';
import { recordView } from '../../../src/model/record-view.ts';

const record = { topic: 'calls', partition: 0, offset: 0, timestampMs: 0, key: null, value: null, headers: [] };

const bare = new Cover();

describe('recordView', () => {
  it.each([
    [1_800_000_000_000_000_000, '+275760-09-13T00:00:00.000Z'],
    [-9e18, '-271821-04-20T00:00:00.000Z'],
    [-1, '1969-12-31T23:59:59.999Z'],
  ])('shows a record whatever its timestamp: %d', (timestampMs, timestamp) => {
    expect(recordView({ ...record, timestampMs }, bare).timestamp).toBe(timestamp);
  });

  it('shows a value that nests too deep to be written as JSON as text', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;

    expect(recordView({ ...record, value: Buffer.from(deep) }, bare).value).toBe(deep);
    expect(recordView({ ...record, value: Buffer.from('{"a":1}') }, bare).value).toEqual({ a: 1 });
  });
});
