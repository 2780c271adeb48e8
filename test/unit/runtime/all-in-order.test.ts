import { expect, it } from 'vitest';

import { allInOrder } from '../../../src/runtime/all-in-order.ts';

it('a step that fails holds up none behind it, and the first error is told in the end', async () => {
  const taken: string[] = [];
  const step = (name: string, error?: Error) => async (): Promise<void> => {
    await Promise.resolve();
    taken.push(name);
    if (error !== undefined) throw error;
  };
  const first = new Error('first');
  const atOnce = (): never => {
    taken.push('throws at once');
    throw new Error('second');
  };

  await expect(allInOrder([step('a'), step('b', first), atOnce, step('c')])).rejects.toBe(first);
  expect(taken).toEqual(['a', 'b', 'throws at once', 'c']);
  await expect(allInOrder([step('d')])).resolves.toBeUndefined();
});
