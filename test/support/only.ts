import type { Observable } from 'rxjs';

/** The first value of a stream; rejects with its error, or when it completes without one. */
export function only<T>(source$: Observable<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    source$.subscribe({
      next: resolve,
      error: reject,
      complete: () => reject(new Error('the stream completed without a value')),
    });
  });
}
