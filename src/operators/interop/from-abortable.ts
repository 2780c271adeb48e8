import { Observable } from 'rxjs';

/**
 * Lifts a promise into a cold Observable: each subscription calls `start`, emits its value and completes, or errors with
 * its rejection (or what it throws). Unsubscribing before that aborts the signal; what the promise does then is ignored.
 * Nothing else in the house may lift a promise.
 */
export function fromAbortable<T>(start: (signal: AbortSignal) => Promise<T>): Observable<T> {
  return new Observable<T>((subscriber) => {
    const controller = new AbortController();
    let settled = false;
    start(controller.signal).then(
      (value) => {
        settled = true;
        subscriber.next(value);
        subscriber.complete();
      },
      (error: unknown) => {
        settled = true;
        subscriber.error(error);
      },
    );
    return () => {
      // Teardown also runs after the end, when an abort would only cost an error object with its stack.
      if (!settled) controller.abort();
    };
  });
}
