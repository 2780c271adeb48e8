import type { Observable } from 'rxjs';

import type { EventView, RouteSpec } from '../model/route.ts';

/** What a route makes of an event. */
export type Acted =
  | {
      readonly kind: 'done';
      /** Calls to be made, each with its id; not yet checked against the contract. */
      readonly calls: readonly unknown[];
      /** What a callback is answered with; `undefined`: nothing. */
      readonly answer: unknown;
    }
  /** `again`: the same may work later. */
  | { readonly kind: 'failed'; readonly message: string; readonly again: boolean };

/** Whether an event fits a route's condition. */
export type Fit = { readonly kind: 'fits' | 'differs' } | { readonly kind: 'failed'; readonly message: string };

/**
 * One route, ready to run.
 *
 * Both methods emit once, then complete, and never error: what goes wrong in an expression or a handler is a value. They
 * have no effect of their own: calls are only named, so running a route again is harmless.
 */
export interface Route {
  readonly spec: RouteSpec;
  fits(event: EventView): Observable<Fit>;
  /** @param callId id of the first call, and beginning of the further ones */
  act(event: EventView, callId: string): Observable<Acted>;
}
