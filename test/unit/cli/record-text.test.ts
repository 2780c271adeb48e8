import { describe, expect, it } from 'vitest';

import { recordAsJson, recordAsText } from '../../../src/cli/record-text.ts';
import { Cover } from '../../../src/model/cover.ts';
import type { InRecord } from '../../../src/model/record.ts';

const record: InRecord = {
  topic: 'calls',
  partition: 3,
  offset: 120,
  timestampMs: Date.UTC(2026, 0, 31, 12),
  key: Buffer.from('oc_1'),
  value: Buffer.from('{"path":"/a"}'),
  headers: [['x-request-id', Buffer.from('r1')]],
};

const bare = new Cover();

describe('a record on the terminal', () => {
  it('S004-23: shows place, time, key, headers and value decoded', () => {
    expect(recordAsText(record, bare)).toBe(
      'calls/3/120  2026-01-31T12:00:00.000Z  key oc_1\n  x-request-id: r1\n  {"path":"/a"}',
    );
    expect(JSON.parse(recordAsJson(record, bare))).toEqual({
      topic: 'calls',
      partition: 3,
      offset: 120,
      timestamp: '2026-01-31T12:00:00.000Z',
      key: 'oc_1',
      headers: [['x-request-id', 'r1']],
      value: { path: '/a' },
    });
  });

  it('shows bytes that are no text as base64, and tombstones as such', () => {
    const raw = { ...record, key: null, value: Buffer.from([0xff, 0x00]) };

    expect(recordAsText(raw, bare)).toContain('no key\n');
    expect(recordAsText(raw, bare)).toMatch(/ {2}base64:\/wA=$/);
    expect(JSON.parse(recordAsJson(raw, bare))).toMatchObject({ key: null, value: { base64: '/wA=' } });
    expect(recordAsText({ ...record, value: null }, bare)).toMatch(/ {2}\(tombstone\)$/);
  });

  it('keeps a value that is not JSON as text', () => {
    expect(JSON.parse(recordAsJson({ ...record, value: Buffer.from('not json') }, bare))).toMatchObject({
      value: 'not json',
    });
  });

  it('lets nothing in a record steer the terminal', () => {
    const evil = '\u001b[2J\u009b31m\r\u202egnp.exe\u2028';
    const headers = [[evil, Buffer.from(evil)]] as const;
    const text = recordAsText({ ...record, key: Buffer.from(evil), value: Buffer.from(evil), headers }, bare);

    expect(text.split('\n')).toHaveLength(3);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
    expect(text).toContain('\\u001b[2J');
  });

  it('masks the members that the configuration names, also in JSON that stands in a string', () => {
    const cover = new Cover(['Name']);
    const value = Buffer.from(JSON.stringify({ name: 'Ana', body: { content: '{"name":"Bo","text":"hi"}' } }));
    const shown = { name: '[redacted]', body: { content: '{"name":"[redacted]","text":"hi"}' } };

    expect(JSON.parse(recordAsJson({ ...record, value }, cover))).toMatchObject({ value: shown });
    expect(recordAsText({ ...record, value }, cover)).toContain(JSON.stringify(shown));
  });
});
