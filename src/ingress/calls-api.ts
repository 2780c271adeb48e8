import { defer, forkJoin, map, mergeMap, type Observable, of } from 'rxjs';

import { type Call, maxIdLength } from '../model/call.ts';
import { type Fault, type HttpRequest, type HttpResponse, unknownWords } from '../model/http.ts';
import type { OutRecord } from '../model/record.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { HttpRoute } from '../ports/http-route.ts';
import type { RecordSink } from '../ports/record-sink.ts';

import { batchAnswer, isBatch, linesOf } from './batch.ts';
import { accepted, forbidden, invalid, notTaken, tooLarge, tooMany, unavailable } from './call-answers.ts';
import { type Client, Clients, idOf } from './clients.ts';
import { BoundedIntake } from './intake.ts';
import { type Done, OncePerKey } from './once-per-key.ts';
import { readCall } from './read-call.ts';
import { readWait } from './read-wait.ts';
import { type Outlook, ResultDesk, type ResultDeskOptions } from './result-desk.ts';

/** What the doors for calls need. */
export interface CallsApiOptions extends ResultDeskOptions {
  readonly sink: RecordSink;
  /** Of requests with an `Idempotency-Key` alone. */
  readonly requestClaims: ClaimStore;
  readonly clock: Clock;
  /** Who hands in calls under a token of his own. */
  readonly clients: readonly Client[];
  /** Makes the id of a call that has none: unique without coordination. */
  newId(): string;
  /** The app that a call of Feishu's goes out as; `undefined`: none. */
  appOf(call: Call): string | undefined;
  /** Why no worker could make a call, so that it is refused at the door; `undefined` when nothing stands against it. */
  refusalOf(call: Call, id: string): Fault | undefined;
  /**
   * Whether a client need not wait for this call because its upstream is out and nothing stands in for an answer. Asked
   * while it waits. Default: nobody here knows.
   */
  outlook?(call: Call, id: string): Outlook | undefined;
  /** Whether the sink takes records at present; `false` answers 503 at once. */
  sinkReady(): boolean;
  /** Longest `?wait=`, milliseconds. Default 30,000. */
  readonly maxWaitMs?: number;
  /** Calls not yet durable, over all clients; further ones are answered 503. Default 1,000. */
  readonly maxHeld?: number;
}

const maxCallBytes = 1_048_576;
const maxBatchBytes = 8 * maxCallBytes;
const carried = ['x-request-id', 'traceparent', 'tracestate'] as const;

/** A call that is stored, by its id; or the answer that says why not. */
type Handed = { readonly id: string } | { readonly refusal: HttpResponse };

/** What a call comes with. */
interface Accompanying {
  readonly client: string | undefined;
  readonly headers: HttpRequest['headers'];
  /** `?key=`. */
  readonly key: string | undefined;
  /** Of a call that names none; `undefined`: a new one. */
  readonly id: string | undefined;
}

/**
 * The doors for calls over HTTP.
 *
 * `POST /v1/calls`: 202 with the id once the call is durable on `calls`; with `?wait=3s` the answer itself (see
 * `answer-of.ts`), 503 at once when its upstream is out for longer than that, or 504 when the wait is over, or the
 * process stops, and the call goes on. The key of the record is `orderingKey`, else `?key=`, else none: calls without a key have no order. A caller that repeats a call gives it an id of its own, or the
 * request an `Idempotency-Key`: the first one counts. Ids of a client begin with its name, see {@link idOf}. As
 * `application/x-ndjson` the body is a batch, one call a line, and so is the answer. Refused are 400 what cannot be read, 401 and 403 who may not, 409 a key that is in use, 413, 422 what is no
 * call, 429 a client beyond its rate, 503 what cannot be stored now.
 *
 * `GET /v1/results/{id}`: the answer as above, 202 while the call is on its way, 404 when nothing is known of it, also
 * to a client whose call it is not.
 *
 * `DELETE /v1/calls/{id}`: 202, `cancelled` when nobody is at the call: it is never sent from then on; `cancelling` when a
 * worker has it in hand and was told: it ends as cancelled unless it is sent just then, or may have been before. 409 when it has ended. It counts in the client's rate.
 */
export function callsRoutes(options: CallsApiOptions): readonly HttpRoute[] {
  const results = new ResultDesk(options);
  const desk = new CallDesk(options, results);
  const calls: HttpRoute = {
    ...{ method: 'POST', path: '/v1/calls', clients: true, maxBodyBytes: maxBatchBytes },
    handle: (request) => defer(() => desk.post(request)),
  };
  const result: HttpRoute = {
    ...{ method: 'GET', path: '/v1/results/:id', clients: true },
    handle: (request) => defer(() => results.get(request)),
  };
  const cancel: HttpRoute = {
    ...{ method: 'DELETE', path: '/v1/calls/:id', clients: true },
    handle: (request) => defer(() => desk.cancel(request)),
  };
  return [calls, result, cancel];
}

class CallDesk {
  readonly #options: CallsApiOptions;
  readonly #clients: Clients;
  readonly #intake: BoundedIntake;
  readonly #once: OncePerKey;
  readonly #results: ResultDesk;

  constructor(options: CallsApiOptions, results: ResultDesk) {
    const { sink, timers, metrics, patienceMs = 5_000, maxHeld = 1_000 } = options;
    this.#options = options;
    this.#results = results;
    this.#clients = new Clients(options.clients);
    this.#intake = new BoundedIntake(sink, timers, maxHeld, patienceMs);
    this.#once = new OncePerKey(options.requestClaims, timers, patienceMs, options.newId());
    metrics.gauge('larkspur_ingress_unstored_calls', 'Calls taken over HTTP and not yet durable', [], () => [
      [{}, this.#intake.held],
    ]);
  }

  post(request: HttpRequest): Observable<HttpResponse> {
    const { query, headers, body, client } = request;
    const batch = isBatch(headers['content-type']);
    const wait = readWait(query['wait'], batch ? 0 : (this.#options.maxWaitMs ?? 30_000));
    const given = headers['idempotency-key'];
    const faults = [
      ...('waitMs' in wait ? [] : [wait]),
      ...faultsOf('key', query['key'], /^.{1,512}$/s, 'must be 1 to 512 characters'),
      // Without its key a call would lose its order, and nobody would know.
      ...unknownWords(query, ['key', 'wait']),
      ...faultsOf('Idempotency-Key', given, /^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters'),
    ];
    const id = given === undefined ? undefined : idOf(client, given);
    const with_: Accompanying = { client, headers, key: query['key'], id };
    if (batch) {
      if (faults.length > 0) return of(invalid(faults, 400));
      return this.#onceFor(id, body, () => this.#takeAll(body, with_));
    }
    const limited = this.#limited(client);
    if (limited !== undefined) return of(limited);
    const outlookFor = (call: Call) => (id: string) => this.#options.outlook?.(call, id);
    const read = this.#read(body);
    if (!('call' in read)) return of(withFaults(read, faults));
    if (!('waitMs' in wait) || faults.length > 0) return of(invalid(faults));
    return this.#onceFor(id, body, () => this.#hand(read.call, with_).pipe(map(answerTo), map(doneAlone))).pipe(
      mergeMap((answer) =>
        answer.status === 202 ? this.#results.wait(answer, wait.waitMs, outlookFor(read.call)) : of(answer),
      ),
    );
  }

  cancel(request: HttpRequest): Observable<HttpResponse> {
    const limited = this.#limited(request.client);
    return limited === undefined ? this.#results.cancel(request) : of(limited);
  }

  #onceFor(id: string | undefined, body: Buffer, work$: () => Observable<Done>): Observable<HttpResponse> {
    return id === undefined ? work$().pipe(map(({ answer }) => answer)) : this.#once.run(id, body, work$);
  }

  #takeAll(body: Buffer, with_: Accompanying): Observable<Done> {
    const lines = linesOf(body);
    if (lines === undefined || lines.length === 0) {
      return of(doneAlone(invalid([{ at: '', message: 'must hold 1 to 1000 lines with a call each' }], 400)));
    }
    const answers$ = lines.map(({ line, bytes }) => {
      const limited = this.#limited(with_.client);
      if (limited !== undefined) return of({ line, answer: limited });
      const read = this.#read(bytes);
      const id = with_.id === undefined ? undefined : `${with_.id}/${line}`;
      const answer$ =
        'call' in read ? this.#hand(read.call, { ...with_, id }).pipe(map(answerTo)) : of(withFaults(read, []));
      return answer$.pipe(map((answer) => ({ line, answer })));
    });
    // Lines that may be taken later keep the key free; those that were taken have the same id in a repeat.
    return forkJoin(answers$).pipe(
      map((answers) => ({
        answer: batchAnswer(answers),
        final: answers.every(({ answer: { status } }) => status !== 429 && status < 500),
      })),
    );
  }

  #read(
    bytes: Buffer,
  ): { readonly call: Call } | { readonly faults: readonly Fault[]; readonly status: 400 | 413 | 422 } {
    if (bytes.length > maxCallBytes) return { faults: [], status: 413 };
    const read = readCall(bytes);
    if (read.ok) return { call: read.call };
    return { faults: read.faults, status: read.unreadable ? 400 : 422 };
  }

  /** Before anything else is looked at: what is wrong costs as much as what is right. */
  #limited(client: string | undefined): HttpResponse | undefined {
    const waitMs = this.#clients.take(client, this.#options.clock.now());
    return waitMs > 0 ? tooMany(waitMs) : undefined;
  }

  /** Puts a call on its topic, unless something stands against it. */
  #hand(call: Call, { client, headers, key, id: ofRequest }: Accompanying): Observable<Handed> {
    const options = this.#options;
    if (ofRequest !== undefined && call.id !== undefined) {
      return of({ refusal: invalid([{ at: '/id', message: 'must not stand beside an Idempotency-Key' }]) });
    }
    const id = idOf(client, call.id ?? ofRequest ?? options.newId());
    if (id.length > maxIdLength) {
      return of({
        refusal: invalid([{ at: '/id', message: `must be at most ${maxIdLength} characters with the client's name` }]),
      });
    }
    const forbiddenTo = this.#clients.refusalOf(client, call, options.appOf(call));
    if (forbiddenTo !== undefined) return of({ refusal: forbidden(forbiddenTo) });
    const impossible = options.refusalOf(call, id);
    if (impossible !== undefined) return of({ refusal: invalid([impossible]) });
    if (!options.sinkReady()) return of({ refusal: unavailable(call.id && id, 'Calls cannot be stored at present.') });
    return this.#intake.append(recordOf({ ...call, id }, key, headers)).pipe(
      map((taken): Handed => {
        if (taken.kind !== 'written') return { refusal: notTaken(taken, id) };
        this.#results.begun(id);
        return { id };
      }),
    );
  }
}

function doneAlone(answer: HttpResponse): Done {
  return { answer, final: answer.status < 300 };
}

function answerTo(handed: Handed): HttpResponse {
  return 'id' in handed ? accepted(handed.id) : handed.refusal;
}

function withFaults(
  { faults, status }: { readonly faults: readonly Fault[]; readonly status: 400 | 413 | 422 },
  more: readonly Fault[],
): HttpResponse {
  return status === 413 ? tooLarge(maxCallBytes) : invalid([...faults, ...more], status);
}

function recordOf(call: Call, key: string | undefined, headers: HttpRequest['headers']): OutRecord {
  const recordKey = call.orderingKey ?? key;
  return {
    topic: 'calls',
    key: recordKey === undefined ? null : Buffer.from(recordKey),
    value: Buffer.from(JSON.stringify(call)),
    headers: carried.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, Buffer.from(value)] as const];
    }),
  };
}

function faultsOf(at: string, text: string | undefined, form: RegExp, message: string): Fault[] {
  return text === undefined || form.test(text) ? [] : [{ at, message }];
}
