import type { Observable, Observer, Unsubscribable } from 'rxjs';
import type { Dispatcher } from 'undici';

import type { Exchange, TransportFailure } from '../../model/outcome.ts';
import { light } from '../../operators/interop/light.ts';
import type { Upstream, UpstreamRequest } from '../../ports/upstream.ts';

import { transportFailure } from './errors.ts';
import type { OriginPool } from './pools.ts';

/** What may be set for an HTTP upstream. */
export interface HttpUpstreamOptions {
  /** An answer with a larger body ends as `response-too-large`; default 10 MiB. */
  readonly maxResponseBytes?: number;
}

const defaultMaxBytes = 10 * 1024 * 1024;

/**
 * {@link Upstream} over a pool of undici connections. Owns nothing: who created the pool closes it. Unsubscribing
 * destroys the socket of that attempt alone; an attempt that still waits for a socket is never written.
 */
export class HttpUpstream implements Upstream {
  readonly #pool: OriginPool;
  readonly #maxBytes: number;

  constructor(pool: OriginPool, options: HttpUpstreamOptions = {}) {
    this.#pool = pool;
    this.#maxBytes = options.maxResponseBytes ?? defaultMaxBytes;
  }

  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange> {
    return light((observer) => {
      const attempt = new Attempt(observer, timeoutMs, this.#maxBytes);
      this.#pool.dispatch(
        { method: request.method, path: request.path, headers: request.headers, body: request.body ?? null },
        attempt,
      );
      return attempt;
    });
  }
}

/**
 * One attempt, as undici's handler. It is told the truth about the socket here: `onRequestStart` comes in the same turn
 * in which the first byte is written, so `sent` is exact, and `abort` destroys the socket.
 */
class Attempt implements Dispatcher.DispatchHandler, Unsubscribable {
  readonly #observer: Observer<Exchange>;
  readonly #timeoutMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #maxBytes: number;
  #controller: Dispatcher.DispatchController | undefined;
  #done = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(observer: Observer<Exchange>, timeoutMs: number, maxBytes: number) {
    this.#observer = observer;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    // Node may fire up to a millisecond early; an attempt never gets less time than it was given.
    this.#timer = setTimeout(this.#onTimeout, Math.ceil(timeoutMs) + 1);
  }

  /** Abandons the attempt: whatever the socket still brings, nobody is told. */
  unsubscribe(): void {
    if (this.#done) return;
    this.#close();
    this.#controller?.abort(new Error('the attempt was abandoned'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Ended while it waited for a socket. Nothing has been written, and with this nothing will be.
    if (this.#done) controller.abort(new Error('ended before it was sent'));
    else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = {};
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ');
    }
    const announced = Number(this.#headers['content-length'] ?? 0);
    if (announced > this.#maxBytes) this.#endTooLarge(`${announced} bytes were announced`);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#endTooLarge(`more than ${this.#maxBytes} bytes came`);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    // Most answers come in one piece, which need not be copied.
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#bytes);
    this.#settle({ kind: 'answered', status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    if (this.#done) return;
    const { failure, message } = transportFailure(error);
    this.#settle({ kind: 'failed', failure, sent: this.#controller !== undefined, message });
  }

  readonly #onTimeout = (): void => {
    this.#end('attempt-timeout', `no complete answer within ${this.#timeoutMs} ms`);
  };

  #endTooLarge(what: string): void {
    this.#end('response-too-large', `the limit is ${this.#maxBytes} bytes, ${what}`);
  }

  /** Ends the attempt once; later calls, and whatever the socket still brings, change nothing. */
  #end(failure: TransportFailure, message: string): void {
    if (this.#done) return;
    const sent = this.#controller !== undefined;
    this.#settle({ kind: 'failed', failure, sent, message });
    this.#controller?.abort(new Error(message));
  }

  #settle(exchange: Exchange): void {
    if (this.#done) return;
    this.#close();
    this.#observer.next(exchange);
    this.#observer.complete();
  }

  #close(): void {
    this.#done = true;
    clearTimeout(this.#timer);
    this.#chunks = [];
  }
}
