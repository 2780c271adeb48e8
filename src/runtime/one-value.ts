import { firstValueFrom, type Observable, throwIfEmpty } from 'rxjs';

import { LarkspurError } from '../model/errors.ts';

/** The first value of a stream that is to give one; rejects with its error. */
export function oneValue<T>(source$: Observable<T>): Promise<T> {
  // eslint-disable-next-line rxjs-x/no-ignored-default-value -- an empty stream has become an error
  return firstValueFrom(source$.pipe(throwIfEmpty(() => new LarkspurError('internal', 'a question got no answer'))));
}
