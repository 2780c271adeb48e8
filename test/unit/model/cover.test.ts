import { describe, expect, it } from 'vitest';

import { Cover } from '../../../src/model/cover.ts';

const cover = new Cover(['name', 'employeeNo']);

describe('a value with members to cover', () => {
  it('is itself, digits, white space and all, where it has none', () => {
    const body = {
      content: '{ "message_id": 7123456789012345678, "list": [1.0, {"a": 1}] }',
      items: ['[ 1 ]', { text: 'hi' }],
      name: null,
    };
    expect(cover.tree(body)).toBe(body);
    expect(cover.tree(body.content)).toBe(body.content);
  });

  it('is changed only on the way to what is covered', () => {
    const body = {
      plain: '{ "id": 7123456789012345678 }',
      list: [{ name: 'Ana', text: '{ "n": 1.0 }' }, { kept: true }],
      content: '{"name": "Bo", "text": "hi"}',
    };
    const shown = cover.tree(body) as typeof body;
    expect(shown).toEqual({
      plain: body.plain,
      list: [{ name: '[redacted]', text: '{ "n": 1.0 }' }, { kept: true }],
      content: '{"name":"[redacted]","text":"hi"}',
    });
    expect(shown.list[1]).toBe(body.list[1]);
    expect(body.list[0]?.name).toBe('Ana');
  });

  it('is masked below 64 levels, wherever its members are', () => {
    const deep = `${'{"a":'.repeat(600)}{"name":"Ana"}${'}'.repeat(600)}`;
    expect(String(cover.tree(deep))).not.toContain('Ana');
  });
});

describe('a text beside such a value', () => {
  it('holds neither its texts nor its numbers, but for those that anything might be', () => {
    const body = { employeeNo: [4_711_001, 12], content: '{"employeeNo": 815123}', other: 4_242 };
    expect(cover.text('4711001 or 815123 of 4242, line 12', body)).toBe('[redacted] or [redacted] of 4242, line 12');
  });
});
