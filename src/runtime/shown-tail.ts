import { catchError, map, type Observable, throwError, toArray } from 'rxjs';

import type { Cover } from '../model/cover.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';
import { recordView } from '../model/record-view.ts';

import type { Stores } from './stores.ts';

/** Shows the last records of a topic, covered; errors with `not_found` for an unknown topic. */
export function shownTail(stores: Pick<Stores, 'tail'>, cover: Cover) {
  return (topic: string, last: number): Observable<ReturnType<typeof recordView>[]> =>
    stores.tail(topic, last).pipe(
      map((record) => recordView(record, cover)),
      toArray(),
      catchError((error: unknown) => throwError(() => asNotFound(error, topic))),
    );
}

function asNotFound(error: unknown, topic: string): LarkspurError {
  if (!(error instanceof LarkspurError)) return new LarkspurError('internal', messageOf(error), { cause: error });
  if (error.code !== 'topic_missing') return error;
  return new LarkspurError('not_found', `there is no topic ${topic}`, { cause: error });
}
