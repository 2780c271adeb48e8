import { Observable, type Observer, type Subscription } from 'rxjs';

/**
 * Subscribes and gives the subscription to `owner` *before* the source emits, so that unsubscribing also stops a source
 * that emits synchronously: `source$.subscribe(...)` returns only after it has emitted all.
 */
export function subscribeWithin<T>(
  owner: { add(subscription: Subscription): void },
  source$: Observable<T>,
  observer: Observer<T>,
): void {
  new Observable<T>((inner) => {
    owner.add(inner);
    return source$.subscribe(inner);
  }).subscribe(observer);
}
