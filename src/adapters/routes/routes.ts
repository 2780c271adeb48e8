import { catchError, defer, map, type Observable, of } from 'rxjs';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { EventView, RouteSpec } from '../../model/route.ts';
import { isTree, type Tree } from '../../model/schema-words.ts';
import { fromAbortable } from '../../operators/interop/from-abortable.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Acted, Fit, Route } from '../../ports/route.ts';

import { compileExpression } from './expression.ts';
import { HandlerThread } from './handler-thread.ts';

/** Routes that are ready to run, with the threads of their handlers. */
export interface OpenRoutes {
  readonly routes: readonly Route[];
  /** By route and module: what may serve on when other routes change. */
  readonly threads: ReadonlyMap<string, HandlerThread>;
  /** `next` takes their place: each thread that is not in it ends with what is under way. Returns those. */
  retire(next: OpenRoutes): readonly HandlerThread[];
  /** Ends the threads. */
  close(): Promise<void>;
}

type Act = Route['act'];

/**
 * Makes routes of what is configured: compiles their expressions; a handler's thread starts with its first event.
 * @param before threads that go on serving the handlers that are configured as they were
 * @throws {LarkspurError} `config_invalid` for an expression with a mistake
 */
export function openRoutes(specs: readonly RouteSpec[], timers: Timers, before?: OpenRoutes['threads']): OpenRoutes {
  const threads = new Map<string, HandlerThread>();
  const actOf = ({ name, to }: RouteSpec): Act => {
    switch (to.kind) {
      case 'http':
        return ({ header: _header, event: _event, ...event }, id) =>
          of(done([{ id, upstream: to.upstream, method: 'POST', path: to.path, body: event }]));
      case 'handler': {
        const key = JSON.stringify([name, to.module, to.timeoutMs]);
        const thread = before?.get(key) ?? new HandlerThread(to.module, to.timeoutMs, timers);
        threads.set(key, thread);
        return (event, callId) => fromAbortable(() => thread.run(event, callId));
      }
      case 'call':
        return callAct(to.template);
      case 'answer': {
        const template = compileExpression(to.template);
        return (event) => settled(template.evaluate(event), (answer) => done([], answer));
      }
      case 'topic':
        return () => of(done([]));
    }
  };
  const routes = specs.map((spec) => within(spec, () => ({ spec, fits: fitsOf(spec.when), act: actOf(spec) })));
  return {
    routes,
    threads,
    retire: (next) => {
      const retired = [...threads].flatMap(([key, thread]) => (next.threads.get(key) === thread ? [] : thread));
      for (const thread of retired) thread.retire();
      return retired;
    },
    close: async () => {
      await Promise.all([...threads.values()].map((thread) => thread.close()));
    },
  };
}

function callAct(template: string | Tree): Act {
  if (typeof template === 'string') {
    const expression = compileExpression(template);
    return (event, callId) => settled(expression.evaluate(event), (value) => done(numbered(value, callId)));
  }
  const { body, ...fields } = template;
  const expression = typeof body === 'string' ? compileExpression(body) : undefined;
  const whole = (value: unknown, id: string): unknown => ({
    id,
    ...fields,
    ...(value === undefined ? {} : { body: value }),
  });
  if (expression === undefined) return (_event, id) => of(done([whole(body, id)]));
  return (event, id) => settled(expression.evaluate(event), (value) => done([whole(value, id)]));
}

/** One call, a list of calls, or nothing, each with its id. */
function numbered(value: unknown, callId: string): unknown[] {
  if (value === undefined || value === null) return [];
  const calls: readonly unknown[] = Array.isArray(value) ? value : [value];
  return calls.map((call, index) =>
    isTree(call) ? { id: index === 0 ? callId : `${callId}/${index}`, ...call } : call,
  );
}

function fitsOf(when: string | undefined): (event: EventView) => Observable<Fit> {
  if (when === undefined) return () => of({ kind: 'fits' });
  const condition = compileExpression(when);
  return (event) =>
    fromAbortable(() => condition.evaluate(event)).pipe(
      map((value): Fit => ({ kind: value === true ? 'fits' : 'differs' })),
      catchError((error: unknown) => of<Fit>({ kind: 'failed', message: messageOf(error) })),
    );
}

function settled(promise: Promise<unknown>, read: (value: unknown) => Acted): Observable<Acted> {
  return defer(() => fromAbortable(() => promise)).pipe(
    map(read),
    catchError((error: unknown) => of<Acted>({ kind: 'failed', message: messageOf(error), again: false })),
  );
}

function done(calls: readonly unknown[], answer?: unknown): Acted {
  return { kind: 'done', calls, answer };
}

function within<T>({ name }: RouteSpec, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof LarkspurError)) throw error;
    const { code, message, cure } = error;
    throw new LarkspurError(code, `route ${name}: ${message}`, {
      ...(cure === undefined ? {} : { cure }),
      cause: error,
    });
  }
}
