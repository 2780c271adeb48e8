import { type MonoTypeOperatorFunction, Observable, type Subscription } from 'rxjs';

import type { InjectedFault } from '../../model/injected-fault.ts';
import type { Exchange } from '../../model/outcome.ts';
import type { Timers } from '../../ports/clock.ts';

/** What an attempt with a fault needs. */
export interface InjectOptions {
  readonly timers: Timers;
  /** The time that the attempt has: with a fault it ends by then, too. */
  readonly timeoutMs: number;
}

const words = 'a fault on purpose';
/** How much later a request leaves for which `latency` names no delay, milliseconds. */
export const defaultDelayMs = 100;

/**
 * Lets one attempt fail on purpose: `timeout` and `reset` end it without an answer, with `acts` after the request went out;
 * `503` and `429` answer instead of the upstream; `latency` sends it later. Without a rule the source as it is. The source is subscribed to at
 * most once; unsubscribing cancels timer and source.
 */
export function injectFault(
  rule: InjectedFault | undefined,
  { timers, timeoutMs }: InjectOptions,
): MonoTypeOperatorFunction<Exchange> {
  return (attempt$) => {
    switch (rule?.kind) {
      case undefined:
        return attempt$;
      case '503':
      case '429':
        return later(timers, 0, forgedAnswer(rule, rule.kind));
      case 'timeout': {
        const lost = failed('attempt-timeout', `${words}: no complete answer within ${timeoutMs} ms`);
        return rule.acts === true ? instead(attempt$, timers, timeoutMs, lost) : later(timers, timeoutMs, lost);
      }
      case 'reset': {
        const cut = failed('reset', `${words}: the connection was reset`);
        return rule.acts === true ? onceAnswered(attempt$, cut) : later(timers, 0, cut);
      }
      case 'latency':
        return delayed(attempt$, rule.delayMs ?? defaultDelayMs, { timers, timeoutMs });
    }
  };
}

function later(timers: Timers, ms: number, exchange: Exchange): Observable<Exchange> {
  return new Observable((subscriber) =>
    timers.after(ms, () => {
      subscriber.next(exchange);
      subscriber.complete();
    }),
  );
}

/** The source runs to its end, unheard; what is told comes when the time is over. */
function instead(attempt$: Observable<Exchange>, timers: Timers, ms: number, exchange: Exchange): Observable<Exchange> {
  return new Observable((subscriber) => {
    subscriber.add(attempt$.subscribe({ error: (error: unknown) => subscriber.error(error) }));
    subscriber.add(later(timers, ms, exchange).subscribe(subscriber));
  });
}

/** The answer is lost on its way. What failed by itself stays as it is. */
function onceAnswered(attempt$: Observable<Exchange>, exchange: Exchange): Observable<Exchange> {
  return new Observable((subscriber) =>
    attempt$.subscribe({
      next: (came) => subscriber.next(came.kind === 'answered' ? exchange : came),
      error: (error: unknown) => subscriber.error(error),
      complete: () => subscriber.complete(),
    }),
  );
}

/** The request leaves later, and the attempt gets no more time for that. */
function delayed(
  attempt$: Observable<Exchange>,
  delayMs: number,
  { timers, timeoutMs }: InjectOptions,
): Observable<Exchange> {
  const over = failed('attempt-timeout', `${words}: no complete answer within ${timeoutMs} ms`);
  if (delayMs >= timeoutMs) return later(timers, timeoutMs, { ...over, sent: false });
  return new Observable((subscriber) => {
    let running: Subscription | undefined;
    subscriber.add(
      timers.after(delayMs, () => {
        running = attempt$.subscribe({
          next: (exchange) => subscriber.next(exchange),
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        });
        subscriber.add(running);
      }),
    );
    subscriber.add(
      timers.after(timeoutMs, () => {
        running?.unsubscribe();
        subscriber.next(over);
        subscriber.complete();
      }),
    );
  });
}

function failed(failure: 'attempt-timeout' | 'reset', message: string) {
  return { kind: 'failed' as const, failure, sent: true, message };
}

/** What is answered instead of the upstream: a 503, or a tier's refusal as Feishu words it. */
export function forgedAnswer(
  { retryAfterSeconds, resetSeconds = 1 }: InjectedFault,
  kind: '503' | '429',
): Exchange & { readonly kind: 'answered' } {
  if (kind === '503') {
    const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    return answered(503, headers, { message: words });
  }
  const reset = String(resetSeconds);
  const headers = resetSeconds === 0 ? {} : { 'x-ogw-ratelimit-reset': reset, 'retry-after': reset };
  return answered(429, headers, { code: 99991400, msg: words });
}

function answered(status: number, headers: Readonly<Record<string, string>>, body: object) {
  return {
    kind: 'answered' as const,
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  };
}
