import { type Observable, of, type Subscription } from 'rxjs';
import { expect } from 'vitest';

import { MemoryCancelBus } from '../../../src/adapters/embedded/cancel-bus.ts';
import { openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { callsRoutes, type CallsApiOptions } from '../../../src/ingress/calls-api.ts';
import type { HttpResponse } from '../../../src/model/http.ts';
import type { OutRecord } from '../../../src/model/record.ts';
import type { Cancelled, ClaimView } from '../../../src/ports/claim-store.ts';
import type { Ack } from '../../../src/ports/record-sink.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const written: Ack = { kind: 'written', partition: 0, offset: 0 };
const unused = (): never => expect.fail('not to be called');

/** What a test decides. */
export interface World extends Partial<CallsApiOptions> {
  /** Default: a time of its own. */
  readonly time?: VirtualTime;
  readonly ack$?: Observable<Ack>;
  readonly view$?: () => Observable<ClaimView>;
  readonly storeReady?: boolean;
  /** What the store says of a cancellation. */
  readonly cancel?: Cancelled;
}

interface Answer {
  atMs: number;
  status: number;
  headers: HttpResponse['headers'];
  body: Record<string, unknown>;
  /** Of a batch. */
  lines: Record<string, unknown>[];
}

function bodyOf(type: string | undefined, text: string): Pick<Answer, 'body' | 'lines'> {
  const parse = (json: string) => JSON.parse(json) as Record<string, unknown>;
  if (type?.includes('ndjson') === true) return { body: {}, lines: text.trim().split('\n').map(parse) };
  return { body: parse(text), lines: [] };
}

/** The doors over a sink and a store of which the test decides what they say. */
export function api({
  time = new VirtualTime(),
  ack$ = of(written),
  view$ = () => of({ kind: 'unknown' }),
  storeReady = true,
  cancel = 'kept',
  ...options
}: World = {}) {
  const records: OutRecord[] = [];
  let looks = 0;
  const requests = openEmbedded({
    data: 'memory',
    clock: time,
    timers: new VirtualTime(),
    logger: noLogger,
    topics: [],
  });
  const [post, get, del] = callsRoutes({
    cancels: new MemoryCancelBus(),
    requestClaims: requests.requestClaims,
    clock: time,
    timers: time,
    clients: [],
    appOf: ({ app = 'cli_a' }) => app,
    metrics: noMetrics,
    newId: () => 'made',
    refusalOf: () => undefined,
    sinkReady: () => true,
    sink: {
      append(record) {
        records.push(record);
        return ack$;
      },
      flush: unused,
      trouble: unused,
    },
    claims: {
      view() {
        looks++;
        return view$();
      },
      ready: () => storeReady,
      claim: unused,
      extend: unused,
      finish: unused,
      cancel: () => of(cancel),
    },
    ...options,
  });
  const ask = (
    route = post,
    request: { body?: unknown; query?: object; headers?: object; id?: string; client?: string } = {},
  ) => {
    const answers: Answer[] = [];
    const subscription: Subscription = route!
      .handle({
        client: request.client,
        params: { id: request.id ?? '' },
        query: { ...request.query },
        headers: { 'x-request-id': 'r', ...request.headers },
        body: Buffer.from(
          typeof request.body === 'string' ? request.body : JSON.stringify(request.body ?? { path: '/x' }),
        ),
      })
      .subscribe({
        next: ({ status, headers, body }) =>
          answers.push({ atMs: time.now(), status, headers, ...bodyOf(headers['content-type'], body) }),
        error: (error: unknown) => expect.fail(String(error)),
      });
    return { answers, subscription };
  };
  return {
    time,
    records,
    looks: () => looks,
    post: (body?: unknown, query?: object, headers?: object) =>
      ask(post, { body, ...(query && { query }), ...(headers && { headers }) }),
    /** As a client, or with headers of its own. */
    send: (body: unknown, more: { headers?: object; client?: string; query?: object } = {}) =>
      ask(post, { body, ...more }).answers[0],
    get: (id: string) => ask(get, { id }).answers,
    cancel: (id: string, client?: string) => ask(del, { id, ...(client !== undefined && { client }) }).answers,
  };
}
