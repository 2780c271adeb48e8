/** Takes steps one after the other, also those behind one that fails; rejects in the end with the first error. */
export async function allInOrder(steps: readonly (() => unknown)[]): Promise<void> {
  const failed: Promise<unknown>[] = [];
  for (const step of steps) {
    const taken = Promise.resolve().then(step);
    await taken.catch(() => failed.push(taken));
  }
  await failed[0];
}
