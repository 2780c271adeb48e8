import { Observable, type Observer, type Unsubscribable } from 'rxjs';

/** Starts the work of one subscription; what it returns stops it. */
export type Run<T> = (observer: Observer<T>) => Unsubscribable;

const shortWay = Symbol('short way');

interface MaybeLight<T> extends Observable<T> {
  [shortWay]?: Run<T>;
}

const over: Unsubscribable = { unsubscribe: () => undefined };

/**
 * An Observable that the operators of this house follow without a `Subscriber` in between: for answers of one value, of which
 * every call waits for several, and where that object with its list of teardowns costs more than the work. For everybody else
 * it is an Observable like any other: cold, and with all operators.
 *
 * What a `Subscriber` guards, `run` promises by itself: nothing is told after `complete` or `error`, nor once the returned
 * handle was unsubscribed, and to unsubscribe after the end changes nothing.
 */
export function light<T>(run: Run<T>): Observable<T> {
  const light$: MaybeLight<T> = new Observable<T>(run);
  light$[shortWay] = run;
  return light$;
}

/** Subscribes, on the short way where there is one. What starting throws is told as an error. */
export function follow<T>(source$: Observable<T>, observer: Observer<T>): Unsubscribable {
  const run = (source$ as MaybeLight<T>)[shortWay];
  if (run === undefined) return source$.subscribe(observer);
  try {
    return run(observer);
  } catch (error) {
    observer.error(error);
    return over;
  }
}
