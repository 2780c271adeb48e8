import type { FastifyReply, FastifyRequest } from 'fastify';

import type { FaultRule } from '../faults/fault-rule.ts';
import type { LoggedRequest } from '../state/request-log.ts';
import type { World } from '../world.ts';

import type { Answer } from './answer.ts';

const defaultHangMs = 30_000;
const defaultPauseMs = 100;

/** One request and the way its answer goes, or does not go. */
export class Exchange {
  readonly #world: World;
  readonly #reply: FastifyReply;
  readonly #entry: LoggedRequest;
  readonly #logId: string;
  /** The fault this request meets, if any. */
  readonly fault: FaultRule | undefined;

  /** Counts the arrival and takes the one decision about faults. */
  constructor(
    world: World,
    request: FastifyRequest,
    reply: FastifyReply,
    app: string | undefined,
    isBusiness: boolean,
  ) {
    this.#world = world;
    this.#reply = reply;
    const { method, url, headers } = request;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    this.fault = world.faults.decide({ method, path, app, isBusiness });
    const arrivedAtMs = world.clock.now();
    this.#entry = { arrivedAtMs, method, path, headers, app, status: 0, fault: this.fault?.kind };
    world.requests.arrive(this.#entry);
    this.#logId = `${Math.floor(world.clock.wall())}${world.salt}${world.requests.arrivals.toString(16).padStart(8, '0')}`;
  }

  /** Never answers. The socket stays open until the client or the sandbox closes it. */
  swallow(): void {
    this.#reply.hijack();
  }

  /** Ends the connection with a reset. */
  reset(): void {
    this.#reply.hijack();
    this.#reply.request.raw.socket.resetAndDestroy();
  }

  /** Sends an answer the way the fault wants it. @param lateMs how late it is already, milliseconds */
  deliver(answer: Answer, lateMs = 0): void {
    const { fault } = this;
    switch (fault?.kind) {
      case 'reset-after':
        this.reset();
        return;
      case 'timeout':
        this.swallow();
        return;
      case 'hang':
        if (lateMs > 0) this.send(answer);
        else this.#world.timers.after(fault.delayMs ?? defaultHangMs, () => this.send(answer));
        return;
      case 'slow-drip':
        this.#drip(answer, fault.pieceBytes ?? 1, fault.delayMs ?? defaultPauseMs);
        return;
      case 'reset-before':
      case '429':
      case '400-99991400':
      case '503':
      case '502-html':
      case 'quota':
      case 'status':
      case 'code':
      case 'token-revoked':
      case undefined:
        this.send(answer);
    }
  }

  /** How long the work itself is held up by the fault, in milliseconds. */
  get lateByMs(): number {
    return this.fault?.kind === 'hang' && this.fault.actsLate === true ? (this.fault.delayMs ?? defaultHangMs) : 0;
  }

  send(answer: Answer): void {
    if (this.#isGone) return;
    this.#world.requests.answered(this.#entry, answer.status);
    void this.#reply
      .code(answer.status)
      .headers({ ...answer.headers, 'x-tt-logid': this.#logId })
      .send(this.#bodyOf(answer));
  }

  #drip(answer: Answer, pieceBytes: number, pauseMs: number): void {
    if (this.#isGone) return;
    const body = this.#bodyOf(answer);
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    this.#world.requests.answered(this.#entry, answer.status);
    this.#reply.hijack();
    const { raw } = this.#reply;
    raw.writeHead(answer.status, {
      'content-type': 'application/json; charset=utf-8',
      ...answer.headers,
      'x-tt-logid': this.#logId,
      'content-length': bytes.length,
    });
    const piece = (from: number): void => {
      if (raw.destroyed) return;
      raw.write(bytes.subarray(from, from + pieceBytes));
      if (from + pieceBytes >= bytes.length) raw.end();
      else this.#world.timers.after(pauseMs, () => piece(from + pieceBytes));
    };
    piece(0);
  }

  get #isGone(): boolean {
    return this.#reply.request.raw.socket.destroyed;
  }

  /** The body, with the log id inside when it is a failure of the platform. */
  #bodyOf({ body }: Answer): unknown {
    if (typeof body !== 'object' || body === null || !('error' in body)) return body;
    return { ...body, error: { ...(body.error as object), log_id: this.#logId } };
  }
}
