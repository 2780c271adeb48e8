import { EMPTY, NEVER, type Observable, of, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { andThen } from '../../../../src/operators/interop/and-then.ts';

const lost = new Error('lost');

/** Subscribes and notes what comes, `|` for completion. */
function noted(source$: Observable<unknown>) {
  const seen: unknown[] = [];
  const subscription = source$.subscribe({
    next: (value) => seen.push(value),
    error: (error: unknown) => seen.push(error),
    complete: () => seen.push('|'),
  });
  return { seen, subscription };
}

describe('andThen', () => {
  it.each<[string, Observable<unknown>, unknown[]]>([
    ['a value', andThen(of(2), (n) => n * 2), [4, '|']],
    ['a stream', andThen(of(2), (n) => of(n, n + 1)), [2, 3, '|']],
    ['nothing', andThen(of(2), () => undefined), ['|']],
    ['a source without a value', andThen(EMPTY, () => 1), ['|']],
    [
      'a source that fails',
      andThen(
        throwError(() => lost),
        () => 1,
      ),
      [lost],
    ],
    ['a step that fails', andThen(of(1), () => throwError(() => lost)), [lost]],
  ])('goes on with %s', (_, chain$, expected) => {
    expect(noted(chain$).seen).toEqual(expected);
  });

  it('passes on what the step throws', () => {
    const broken = new Error('broken');
    const chain$ = andThen(of(1), () => {
      throw broken;
    });

    expect(noted(chain$).seen).toEqual([broken]);
  });

  it('takes the first value alone', () => {
    expect(noted(andThen(of(1, 2, 3), (n) => n)).seen).toEqual([1, '|']);
  });

  it('cancels whichever is under way when unsubscribed, and says once that it ended', () => {
    let ended = 0;
    const source$ = new Subject<number>();
    const step$ = new Subject<number>();
    const first = noted(
      andThen(
        source$,
        () => step$,
        () => ended++,
      ),
    );
    source$.next(1);
    expect([source$.observed, step$.observed, ended]).toEqual([true, true, 0]);

    first.subscription.unsubscribe();
    expect([source$.observed, step$.observed, ended]).toEqual([false, false, 1]);
  });

  it.each<[string, Observable<number>]>([
    ['completed', of(1)],
    ['failed', throwError(() => lost)],
  ])('says that it ended when the source %s', (_, source$) => {
    let ended = 0;
    noted(
      andThen(
        source$,
        (n) => n,
        () => ended++,
      ),
    );

    expect(ended).toBe(1);
  });

  it('has not ended while the source is silent', () => {
    let ended = 0;
    noted(
      andThen(
        NEVER,
        () => 1,
        () => ended++,
      ),
    );

    expect(ended).toBe(0);
  });
});
