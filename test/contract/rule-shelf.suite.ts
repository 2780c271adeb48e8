import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type RuleSnapshot } from '../../src/model/rule.ts';
import type { RuleShelf } from '../../src/ports/rule-shelf.ts';

/** What every shelf of rules promises. @param open each call opens a shelf of its own; @param wait lets its clock go on */
export function ruleShelfSuite(
  name: string,
  open: () => Promise<{ shelf: RuleShelf; wait: (ms: number) => Promise<void>; close: () => Promise<void> }>,
): void {
  describe(`rule shelf: ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    let shelf: RuleShelf;
    beforeAll(async () => {
      opened = await open();
      ({ shelf } = opened);
    });
    afterAll(() => opened.close());
    const snapshot = (exportedAtMs: number, ...buckets: (readonly [string, string])[]): RuleSnapshot => ({
      buckets: new Map(buckets),
      exportedAtMs,
      rules: buckets.length,
    });

    it('has nothing before the first export, and says so', async () => {
      expect([await shelf.read('a/x', false), await shelf.readAll(), await shelf.state()]).toEqual([
        { kind: 'gone' },
        undefined,
        undefined,
      ]);
      expect(await shelf.renew(1_000)).toBe(false);
    });

    it('gives back each bucket as it was written, and knows what is not among them', async () => {
      const many = Array.from({ length: 500 }, (_, n) => [`app/type.${n}`, `text ${n}`] as const);
      expect(await shelf.write(snapshot(1_000, ['a/x', '[1]'], ['*/*', ''], ...many), 5, 60_000)).toBe(true);

      expect(await shelf.read('a/x', false)).toEqual({ kind: 'rules', text: '[1]' });
      expect(await shelf.read('app/type.499', false)).toEqual({ kind: 'rules', text: 'text 499' });
      expect(await shelf.read('a/y', false)).toEqual({ kind: 'none' });
      const all = await shelf.readAll();
      expect(all?.buckets.size).toBe(502);
      expect(all).toMatchObject({ exportedAtMs: 1_000, rules: 502 });
    });

    it('gives the same from a copy of a bucket that is hot', async () => {
      for (let n = 0; n < 3; n++) {
        expect(await shelf.read('a/x', true)).toEqual({ kind: 'rules', text: '[1]' });
        expect(await shelf.read('a/none', true)).toEqual({ kind: 'none' });
      }
    });

    it('replaces all of it with what is newer, and nothing with what is older', async () => {
      expect(await shelf.write(snapshot(2_000, ['b/x', 'new']), 6, 60_000)).toBe(true);
      expect(await shelf.write(snapshot(3_000, ['a/x', 'late']), 5, 60_000)).toBe(false);

      expect(await shelf.read('a/x', false)).toEqual({ kind: 'none' });
      expect(await shelf.read('b/x', false)).toEqual({ kind: 'rules', text: 'new' });
      expect((await shelf.state())?.exportedAtMs).toBe(2_000);
    });

    it('S004-19: stands as long as it was told, longer when it is renewed, and then it is gone', async () => {
      expect(await shelf.write(snapshot(4_000, ['c/x', 'text']), 7, 1_000)).toBe(true);
      expect((await shelf.state())?.leftMs).toBeLessThanOrEqual(1_000);
      expect(await shelf.renew(2_000)).toBe(true);
      await opened.wait(1_100);
      expect(await shelf.read('c/x', false)).toEqual({ kind: 'rules', text: 'text' });
      await opened.wait(1_000);
      expect([await shelf.read('c/x', false), await shelf.state()]).toEqual([{ kind: 'gone' }, undefined]);
    });
  });
}
