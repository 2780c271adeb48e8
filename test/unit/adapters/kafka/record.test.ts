import { describe, expect, it } from 'vitest';

import { Bundle } from '../../../../src/adapters/kafka/produce-request.ts';
import { messagesOf } from '../../../../src/adapters/kafka/record.ts';
import type { OutRecord } from '../../../../src/model/record.ts';

describe('messagesOf', () => {
  const value = Buffer.from('v');
  const [first, second, third] = ['1', '2', '3'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
  const records: OutRecord[] = [
    { topic: 't', key: null, value, headers: [] },
    {
      ...{ topic: 't', key: Buffer.from('k'), value: null },
      headers: [
        ['a', first],
        ['constructor', second],
        ['a', third],
      ],
    },
  ];

  it('gives a driver that is not mended a message for each record, with its own form of headers', () => {
    const messages = messagesOf(3, records, false);
    expect(messages).toMatchObject([
      { partition: 3, key: null, value },
      { partition: 3, key: Buffer.from('k'), value: null },
    ]);
    expect(messages.map(({ headers }) => Object.entries(headers ?? {}))).toEqual([
      [],
      [
        ['a', [first, third]],
        ['constructor', second],
      ],
    ]);
  });

  it('gives a mended driver one bundle of all records, untouched', () => {
    const [bundle, ...others] = messagesOf(3, records, true);
    expect(others).toEqual([]);
    expect(bundle).toBeInstanceOf(Bundle);
    expect(bundle).toEqual({ partition: 3, value: null, records });
  });
});
