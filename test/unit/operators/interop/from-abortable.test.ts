import { describe, expect, it } from 'vitest';

import { fromAbortable } from '../../../../src/operators/interop/from-abortable.ts';
import { collect } from '../../../support/collect.ts';

const settle = async () => {
  for (let i = 0; i < 5; i++) await Promise.resolve();
};

describe('fromAbortable', () => {
  it('is cold: starts once per subscription and emits one value', async () => {
    let starts = 0;
    const lifted$ = fromAbortable(() => Promise.resolve(++starts));
    expect(starts).toBe(0);
    const [first, second] = [collect(lifted$), collect(lifted$)];
    await settle();
    expect([first.values, second.values]).toEqual([[1], [2]]);
    expect(first.ending).toBe('complete');
  });

  it('aborts the signal when unsubscribed and ignores what comes after', async () => {
    let signal: AbortSignal | undefined;
    let reject: (error: Error) => void = () => expect.fail('not started');
    const seen = collect(
      fromAbortable(
        (given) =>
          new Promise<number>((_, fail) => {
            signal = given;
            reject = fail;
          }),
      ),
    );
    expect(signal?.aborted).toBe(false);
    seen.subscription.unsubscribe();
    expect(signal?.aborted).toBe(true);
    reject(new Error('aborted'));
    await settle();
    expect(seen.ending).toBeUndefined();
  });

  it('does not abort what has ended', async () => {
    let signal: AbortSignal | undefined;
    const seen = collect(
      fromAbortable((given) => {
        signal = given;
        return Promise.resolve(1);
      }),
    );
    await settle();
    expect(seen.ending).toBe('complete');
    expect(signal?.aborted).toBe(false);
  });

  it('errors with a rejection, and with what start throws', async () => {
    const rejected = collect(fromAbortable(() => Promise.reject(new Error('rejected'))));
    const thrown = collect(
      fromAbortable(() => {
        throw new Error('thrown');
      }),
    );
    await settle();
    expect(rejected.ending).toMatchObject({ message: 'rejected' });
    expect(thrown.ending).toMatchObject({ message: 'thrown' });
  });
});
