import { type Observable, of, Subject } from 'rxjs';

import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import type { RecordHeaders } from '../../src/model/record.ts';
import { isFor, type RouteSpec } from '../../src/model/route.ts';
import type { RouteOutcome } from '../../src/pipeline/routes/route-event.ts';
import { routeEvents } from '../../src/pipeline/routes/route-events.ts';
import type { Acted, Fit, Route } from '../../src/ports/route.ts';

import { HeldSink } from './held-sink.ts';
import { RememberingLogger } from './remembering-logger.ts';
import { SharedGroup } from './shared-group.ts';
import { VirtualTime } from './virtual-time.ts';

const fits$: Observable<Fit> = of({ kind: 'fits' });

/** A route whose work is given; the pipeline around it is the real one. */
export function route(
  name: string,
  act: (eventId: string, nth: number) => Acted,
  more: Partial<RouteSpec> = {},
): Route {
  const seen = new Map<string, number>();
  const made = {
    spec: { name, on: '*', app: undefined, when: undefined, to: { kind: 'call', template: '' }, ...more },
    fits: (): Observable<Fit> => fits$,
    act: ({ id }): Observable<Acted> => {
      const nth = (seen.get(id) ?? 0) + 1;
      seen.set(id, nth);
      return of(act(id, nth));
    },
  } satisfies Route;
  return made;
}

/** Events on an embedded topic, routed in virtual time. */
export class RouteBench {
  readonly time = new VirtualTime();
  readonly store = openEmbedded({
    data: 'memory',
    clock: this.time,
    timers: this.time,
    logger: new RememberingLogger(),
    clusterId: 'bench',
    nextTurn: (task) => void this.time.after(0, task),
    topics: [
      { name: 'events', partitions: 1 },
      { name: 'calls', partitions: 1, maxMessageBytes: 2_000 },
      { name: 'dead-letters', partitions: 1 },
    ],
  });
  readonly sink = new HeldSink(this.store.sink);
  readonly group = new SharedGroup(this.store, this.time, ['events']);
  readonly #stop$ = new Subject<void>();
  readonly outcomes: (readonly RouteOutcome[])[] = [];
  ended = false;
  error: unknown;

  start(...routes: Route[]) {
    const source = this.group.member();
    const { time, sink } = this;
    const running = routeEvents({
      routes: { routesFor: (event) => routes.filter(({ spec }) => isFor(spec, event)) },
      clock: time,
      timers: time,
      source,
      sink,
      stop$: this.#stop$,
    })(source.event$).subscribe({
      next: (outcomes) => this.outcomes.push(outcomes),
      error: (error: unknown) => (this.error = error),
      complete: () => (this.ended = true),
    });
    this.group.give(0, source);
    return { crash: () => running.unsubscribe(), source };
  }

  /** Asks the stream to come to its end. */
  stop(): void {
    this.#stop$.next();
  }

  event(id: string, key: string | null = null, headers: RecordHeaders = []): void {
    const event = {
      id,
      type: 'im.message.receive_v1',
      app: 'cli_a',
      createdAtMs: 1,
      receivedAtMs: 1,
      via: 'webhook',
      body: {},
    };
    const value = Buffer.from(JSON.stringify(event));
    this.store.sink
      .append({ topic: 'events', key: key === null ? null : Buffer.from(key), value, headers })
      .subscribe();
    this.time.advance(1);
    this.group.poke();
  }

  records(topic: string) {
    const all = Array.from({ length: 1_000 }, (_, offset) => this.store.read(topic, 0, offset));
    return all.filter((record) => record !== undefined);
  }

  get callIds(): string[] {
    return this.records('calls').map(({ value }) => (JSON.parse(String(value)) as { id: string }).id);
  }

  get committed(): number | undefined {
    return this.group.committed.get(0)?.offset;
  }
}
