import { Observable, type Subscriber } from 'rxjs';

import type { Exchange, TransportFailure } from '../../src/model/outcome.ts';
import type { Upstream, UpstreamRequest } from '../../src/ports/upstream.ts';

import type { VirtualTime } from './virtual-time.ts';

/** What a scripted upstream does with one attempt; all fields have defaults: 200, `{ code: 0 }`, at once. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a Buffer as it is. */
  readonly body?: unknown;
  readonly afterMs?: number;
  /** Ends without an answer. `sent`: the request left before. */
  readonly fail?: { readonly how: TransportFailure; readonly sent: boolean };
  /** Never answers: the attempt ends by its timeout. */
  readonly hang?: true;
  /** Whether the call takes effect. Default: for 2xx with code 0. */
  readonly acts?: boolean;
}

/** One attempt as the upstream saw it. */
export interface SeenAttempt {
  readonly atMs: number;
  readonly id: string;
  /** 1 for the first attempt of its call. */
  readonly nth: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: Readonly<Record<string, unknown>>;
  /** What a repeat is recognised by: the platform's key, else nothing. */
  readonly key: string | undefined;
}

/** An upstream in virtual time whose answers are written down before, with a ledger of what took effect. */
export class ScriptedUpstream implements Upstream {
  readonly attempts: SeenAttempt[] = [];
  /** One entry per effect: a repeat with a key that is known already is answered and has none. */
  readonly effects: string[] = [];
  script: (attempt: SeenAttempt) => Reply;
  inFlight = 0;
  mostInFlight = 0;
  aborted = 0;
  readonly #time: VirtualTime;
  readonly #known = new Set<string>();
  readonly #perCall = new Map<string, number>();

  constructor(time: VirtualTime, script: (attempt: SeenAttempt) => Reply = () => ({})) {
    this.#time = time;
    this.script = script;
  }

  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange> {
    return new Observable((subscriber) => this.#attempt(request, timeoutMs, subscriber));
  }

  /** Attempts of one call. */
  of(id: string): SeenAttempt[] {
    return this.attempts.filter((attempt) => attempt.id === id);
  }

  #attempt(request: UpstreamRequest, timeoutMs: number, subscriber: Subscriber<Exchange>): () => void {
    const attempt = this.#see(request);
    const reply = this.script(attempt);
    let open = true;
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const leave = (): boolean => {
      const was = open;
      open = false;
      if (was) this.inFlight--;
      return was;
    };
    const hangs = reply.hang === true || (reply.afterMs ?? 0) >= timeoutMs;
    const { status = 200, body = { code: 0 } } = reply;
    const acts = reply.acts ?? (reply.fail === undefined && reply.hang === undefined && status < 300 && isOk(body));
    // What acts does so when the request arrives, whatever becomes of the answer.
    if (acts) this.#act(attempt);
    const cancel = this.#time.after(hangs ? timeoutMs : (reply.afterMs ?? 0), () => {
      if (!leave()) return;
      subscriber.next(hangs ? timedOut : exchangeOf(reply, status, body));
      subscriber.complete();
    });
    return () => {
      cancel();
      if (leave()) this.aborted++;
    };
  }

  #see({ method, path, headers, body }: UpstreamRequest): SeenAttempt {
    const id = headers['x-request-id'] ?? '';
    const nth = (this.#perCall.get(id) ?? 0) + 1;
    this.#perCall.set(id, nth);
    const json = body === undefined ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
    const query = new URL(path, 'http://x').searchParams;
    const keys = [...['uuid', 'client_token'].map((name) => json[name] ?? query.get(name)), headers['idempotency-key']];
    const key = keys.find((value) => typeof value === 'string');
    const attempt = { atMs: this.#time.now(), id, nth, method, path, headers, json, key };
    this.attempts.push(attempt);
    return attempt;
  }

  #act({ id, key }: SeenAttempt): void {
    if (key !== undefined && this.#known.has(key)) return;
    if (key !== undefined) this.#known.add(key);
    this.effects.push(id);
  }
}

const timedOut: Exchange = { kind: 'failed', failure: 'attempt-timeout', sent: true, message: 'no answer in time' };

function exchangeOf({ fail, headers = {} }: Reply, status: number, body: unknown): Exchange {
  if (fail !== undefined) return { kind: 'failed', failure: fail.how, sent: fail.sent, message: fail.how };
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return { kind: 'answered', status, headers: { 'content-type': 'application/json', ...headers }, body: bytes };
}

function isOk(body: unknown): boolean {
  return typeof body !== 'object' || body === null || !('code' in body) || body.code === 0;
}
