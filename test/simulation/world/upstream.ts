import { Observable, type Subscriber } from 'rxjs';

import type { Exchange } from '../../../src/model/outcome.ts';
import type { Upstream, UpstreamRequest } from '../../../src/ports/upstream.ts';
import type { Answer } from '../plan.ts';

import type { Attempt, Request } from './attempts.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** How long the upstream knows a key. The house reckons with four fifths of it. */
export const keyMemoryMs = 60_000;

/** Names the reading of a record that an attempt belongs to. */
export const visitHeader = 'x-visit';

// Attempts time out after 5 s: this long a request may be on its way all the same.
const longestTravelMs = 11_000;

/** What all replicas call: its effects, and the keys it knows. */
export class UpstreamServer {
  readonly #world: World;
  readonly #firstMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A request arrives and is carried out, unless its key says that it was before. */
  act(attempt: Attempt): void {
    const { clock, audit } = this.#world;
    const { key } = attempt;
    const firstMs = key === undefined ? undefined : this.#firstMs.get(key);
    if (firstMs !== undefined && clock.now() - firstMs < keyMemoryMs) return;
    if (key !== undefined) this.#firstMs.set(key, clock.now());
    this.#world.note('upstream', 'acts on', attempt.id);
    audit.effect(attempt);
  }
}

/** The way of one process to one upstream. What has left goes on when the process dies or loses interest. */
export class UpstreamClient implements Upstream {
  readonly #process: Process;
  readonly #name: 'feishu' | 'news';

  constructor(process: Process, name: 'feishu' | 'news') {
    this.#process = process;
    this.#name = name;
  }

  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange> {
    return new Observable((subscriber) => {
      if (!this.#process.enter('send')) return undefined;
      return this.#attempt(request, timeoutMs, subscriber);
    });
  }

  #attempt(request: UpstreamRequest, timeoutMs: number, subscriber: Subscriber<Exchange>): () => void {
    const { world } = this.#process;
    const attempt = world.audit.attempts.start(this.#process, this.#name, readRequest(request));
    const answer = this.#answerTo(attempt, request);
    world.note(this.#process.name, `attempt ${attempt.nth} (${answer}) of`, attempt.id);
    const end = (exchange: Exchange): void => {
      if (subscriber.closed) return;
      world.note(this.#process.name, `hears ${wordOf(exchange)} of`, attempt.id);
      world.audit.attempts.told(attempt, exchange);
      world.audit.attempts.left(attempt);
      subscriber.next(exchange);
      subscriber.complete();
    };
    const draw = (low: number, high: number, what: string): number =>
      this.#process.draw(low, high, what, attempt.id, attempt.nth);
    const thereMs = answer === 'late' ? draw(5_500, longestTravelMs, 'there') : draw(1, 40, 'there');
    const backMs = answer === 'slow' ? draw(2_500, 4_900, 'back') : draw(1, 40, 'back');
    const cancel = this.#process.after(timeoutMs, () => end(timedOut));
    world.clock.in(thereMs, () => {
      if (acting.has(answer)) world.upstream.act(attempt);
      const exchange = exchangeOf(answer, attempt);
      if (exchange !== undefined) this.#process.deliver(backMs, () => end(exchange));
    });
    return () => {
      cancel();
      world.audit.attempts.left(attempt);
    };
  }

  #answerTo(attempt: Attempt, { headers }: UpstreamRequest): Wire {
    const { world } = this.#process;
    const trouble = world.weather.upstream(this.#name, world.clock.now());
    if (trouble !== undefined) return trouble.how;
    const version = Number(/^Bearer token-(\d+)$/.exec(headers['authorization'] ?? '')?.[1] ?? Infinity);
    if (version <= world.revokedUpTo(this.#process)) return 'stale-token';
    return world.audit.callOf(attempt.id)?.answers[attempt.nth - 1] ?? 'ok';
  }
}

type Wire = Answer | 'stale-token';

const acting: ReadonlySet<Wire> = new Set(['ok', 'slow', 'late', 'reset-after', 'error-after', 'hang-after']);
const timedOut: Exchange = { kind: 'failed', failure: 'attempt-timeout', sent: true, message: 'no answer in time' };

function exchangeOf(answer: Wire, { nth, large }: Attempt): Exchange | undefined {
  switch (answer) {
    case 'ok':
    case 'slow':
      return answered(200, large ? { code: 0, data: 'x'.repeat(5_000) } : { code: 0 });
    case 'refused':
      return { kind: 'failed', failure: 'refused', sent: false, message: 'refused' };
    case 'reset-before':
    case 'reset-after':
      return { kind: 'failed', failure: 'reset', sent: true, message: 'reset' };
    case 'error-before':
    case 'error-after':
      return answered(503, {});
    case 'limited':
      return answered(429, {}, { 'x-ogw-ratelimit-reset': String(1 + (nth % 3)) });
    case 'stale-token':
      return answered(400, { code: 99_991_663, msg: 'token invalid' });
    case 'wrong':
      return answered(400, { code: 400_001, msg: 'wrong' });
    case 'hang-before':
    case 'hang-after':
    case 'late':
      return undefined;
  }
}

function wordOf(exchange: Exchange): string {
  return exchange.kind === 'answered' ? String(exchange.status) : exchange.failure;
}

function answered(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Exchange {
  const all = { 'content-type': 'application/json', ...headers };
  return { kind: 'answered', status, headers: all, body: Buffer.from(JSON.stringify(body)) };
}

function readRequest({ headers, body }: UpstreamRequest): Request {
  const inBody = body === undefined ? undefined : (JSON.parse(body.toString()) as { readonly uuid?: string }).uuid;
  return {
    id: headers['x-request-id'] ?? '',
    key: headers['idempotency-key'] ?? inBody,
    visit: headers[visitHeader] ?? '',
  };
}
