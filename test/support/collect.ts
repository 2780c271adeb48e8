import type { Observable, Subscription } from 'rxjs';

/** What a stream has told so far. `ending` is `'complete'`, the error, or `undefined` while it goes on. */
export interface Seen<T> {
  readonly values: T[];
  ending: unknown;
  readonly subscription: Subscription;
}

/** Subscribes and keeps everything. */
export function collect<T>(source$: Observable<T>): Seen<T> {
  const values: T[] = [];
  let ending: unknown;
  const subscription = source$.subscribe({
    next: (value) => values.push(value),
    error: (error: unknown) => {
      ending = error;
    },
    complete: () => {
      ending = 'complete';
    },
  });
  return {
    values,
    subscription,
    get ending() {
      return ending;
    },
  };
}
