import type { Observable } from 'rxjs';

import type { Event } from '../model/event.ts';

import type { Route } from './route.ts';

/** Which routes there are. They may change from one event to the next. */
export interface EventRoutes {
  /**
   * The routes for events of this type and app, in their order; their conditions are another matter. At once where they are
   * known, else once they are: emits once, then completes, and never errors. Unsubscribing stops waiting.
   */
  routesFor(event: Pick<Event, 'app' | 'type'>): readonly Route[] | Observable<readonly Route[]>;
}
