import type { Observable, Subscription } from 'rxjs';

import type { HttpResponse } from '../../../model/http.ts';
import { decodeLinkFrame, encodeLinkFrame, linkHeader, type LinkFrame } from '../../../model/link-frame.ts';
import type { Clock, Timers } from '../../../ports/clock.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Random } from '../../../ports/random.ts';
import { parseObject } from '../envelope.ts';

import { FrameParts } from './frame-parts.ts';
import { type LinkSocket, type LinkTiming, type LinkWire, timingIn } from './link-wire.ts';

/** Why a connection is not there. A closed list: it labels a metric. */
export type LinkFailure = 'too-many' | 'refused' | 'unreachable' | 'lost' | 'silent';

/** What a long connection needs. */
export interface LongConnectionOptions {
  readonly app: string;
  readonly wire: LinkWire;
  /** Takes what came; emits the answer once it may be acknowledged. */
  take(payload: Buffer, traceId: string | undefined): Observable<HttpResponse>;
  failed(why: LinkFailure): void;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
}

const usual: LinkTiming = { pingMs: 120_000, retryMs: 120_000, spreadMs: 30_000 };
const firstRetryMs = 1_000;
/** Credentials and connections in excess do not mend themselves in a moment. */
const longRetryMs = 600_000;
const answerPingWithinMs = 10_000;
/** Who takes a connection and says nothing would be waited for five minutes. */
const openWithinMs = 20_000;
const tooManyCode = 1_000_040_350;
const credentialCodes: ReadonlySet<number | undefined> = new Set([403, 514, 1_000_040_344]);

/**
 * One long connection of an app: opened again for ever, with full jitter, whenever it is lost, refused or silent. What comes
 * is acknowledged only when it has been taken; what is not taken is refused, so that the platform delivers it again.
 */
export class LongConnection {
  readonly #options: LongConnectionOptions;
  readonly #parts = new FrameParts();
  readonly #takes = new Set<Subscription>();
  #timing = usual;
  #socket: LinkSocket | undefined;
  #service = 0;
  #up = false;
  #everUp = false;
  #stopped = false;
  #failures = 0;
  #sinceMs: number;
  #eventAtMs: number;
  #cancelNext = (): void => undefined;
  /** While a ping waits for its answer. */
  #cancelSilence: (() => void) | undefined;

  constructor(options: LongConnectionOptions) {
    this.#options = options;
    this.#sinceMs = this.#eventAtMs = options.clock.now();
  }

  /** Begins to connect. */
  start(): void {
    void this.#connect();
  }

  /** Whether it is open. */
  get up(): boolean {
    return this.#up;
  }

  /** Whether it has ever been open. */
  get opened(): boolean {
    return this.#everUp;
  }

  /** Since when it has been as it is, milliseconds. */
  get sinceMs(): number {
    return this.#options.clock.now() - this.#sinceMs;
  }

  /** Since the last event came, or since the start, milliseconds. */
  get quietMs(): number {
    return this.#options.clock.now() - this.#eventAtMs;
  }

  /** Ends it for good. What was not acknowledged is delivered again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#drop();
    this.#cancelNext();
    for (const take of this.#takes) take.unsubscribe();
    await this.#options.wire.close();
  }

  async #connect(): Promise<void> {
    const endpoint = await this.#options.wire.endpoint();
    if (this.#stopped) return;
    if (endpoint.kind === 'refused') {
      const { code, message } = endpoint;
      const why = code === tooManyCode ? 'too-many' : code === undefined ? 'unreachable' : 'refused';
      this.#fail(why, { code, message }, why === 'too-many' || credentialCodes.has(code) ? longRetryMs : undefined);
      return;
    }
    this.#timing = { ...this.#timing, ...endpoint.timing };
    this.#service = Number(new URL(endpoint.url).searchParams.get('service_id') ?? 0) || 0;
    this.#cancelNext = this.#options.timers.after(openWithinMs, () => this.#fail('silent', {}));
    this.#socket = this.#options.wire.open(endpoint.url, {
      opened: () => this.#opened(),
      received: (bytes) => this.#received(bytes),
      closed: () => this.#fail('lost', {}),
    });
  }

  #opened(): void {
    this.#cancelNext();
    this.#failures = 0;
    this.#everUp = true;
    this.#turn(true);
    this.#options.log.info({ app: this.#options.app }, 'the long connection to Feishu is open');
    this.#pingLater();
  }

  #pingLater(): void {
    this.#cancelNext = this.#options.timers.after(this.#timing.pingMs, () => {
      this.#cancelSilence ??= this.#options.timers.after(answerPingWithinMs, () => this.#fail('silent', {}));
      this.#send({
        ...{ seqId: 0n, logId: 0n, service: this.#service, method: 'control' },
        ...{ headers: [['type', 'ping']], payload: Buffer.alloc(0) },
      });
      this.#pingLater();
    });
  }

  #received(bytes: Buffer): void {
    // Whatever it is, the other side lives.
    this.#hear();
    const frame = decodeLinkFrame(bytes);
    if (frame === undefined) return;
    const type = linkHeader(frame, 'type');
    if (frame.method === 'control') {
      if (type === 'pong') this.#timing = { ...this.#timing, ...timingIn(parseObject(frame.payload)) };
      return;
    }
    if (type !== 'event' && type !== 'card') return;
    const { clock } = this.#options;
    const startedMs = clock.now();
    const payload = this.#parts.join(frame, startedMs);
    if (payload === undefined) return;
    this.#eventAtMs = startedMs;
    const socket = this.#socket;
    const take = this.#options.take(payload, linkHeader(frame, 'trace_id')).subscribe({
      next: (answer) => socket?.send(encodeLinkFrame(acknowledgement(frame, answer, clock.now() - startedMs))),
      error: () => socket?.send(encodeLinkFrame(acknowledgement(frame, undefined, clock.now() - startedMs))),
    });
    this.#takes.add(take);
    take.add(() => this.#takes.delete(take));
  }

  #hear(): void {
    this.#cancelSilence?.();
    this.#cancelSilence = undefined;
  }

  #send(frame: LinkFrame): void {
    this.#socket?.send(encodeLinkFrame(frame));
  }

  #fail(why: LinkFailure, about: object, leastMs = 0): void {
    const { timers, random, log, app } = this.#options;
    const wasUp = this.#up;
    this.#drop();
    const { retryMs, spreadMs } = this.#timing;
    // Who was connected comes back soon, but not together with all others.
    const ceilingMs = wasUp ? spreadMs : Math.min(retryMs, firstRetryMs * 2 ** Math.min(this.#failures++, 20));
    const waitMs = Math.max(leastMs, ceilingMs) * Math.max(0.1, random.next());
    this.#options.failed(why);
    log[why === 'too-many' || why === 'refused' ? 'error' : 'warn'](
      { app, why, ...about, waitMs: Math.round(waitMs) },
      'there is no long connection to Feishu; it is opened again',
    );
    this.#cancelNext = timers.after(waitMs, () => void this.#connect());
  }

  #drop(): void {
    this.#cancelNext();
    this.#hear();
    this.#socket?.close();
    this.#socket = undefined;
    this.#turn(false);
  }

  #turn(up: boolean): void {
    if (this.#up !== up) this.#sinceMs = this.#options.clock.now();
    this.#up = up;
  }
}

/** The same frame back, with what became of it: 200 as taken, 500 as not. */
function acknowledgement(frame: LinkFrame, answer: HttpResponse | undefined, tookMs: number): LinkFrame {
  const taken = answer?.status === 200;
  const said = taken && answer.body !== '{}' ? { data: Buffer.from(answer.body).toString('base64') } : {};
  return {
    ...frame,
    headers: [...frame.headers, ['biz_rt', String(Math.round(tookMs))]],
    payload: Buffer.from(JSON.stringify({ code: taken ? 200 : 500, headers: {}, ...said })),
  };
}
