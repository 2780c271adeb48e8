import type { FastifyReply, FastifyRequest } from 'fastify';

import { forgedAnswer } from '../faults/forged-answer.ts';
import type { Api } from '../settings.ts';
import type { Grant } from '../state/tokens.ts';
import type { World } from '../world.ts';

import { type Answer, failure, rateLimited } from './answer.ts';
import { Exchange } from './exchange.ts';
import { type ApiCall, type Endpoint, isAnswer, type Job } from './job.ts';

/** Stands in for a body that is not JSON. */
export const unreadable: unique symbol = Symbol('unreadable');

const nobody: Grant = { token: '', app: '-', tenant: '-', expiresAtMs: Infinity };

/** A business API behind its token: fault, token, tier, field checks, chat limit, replay, effect, in the platform's order. */
export function serveApi(world: World, endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): void {
  const token = bearerOf(request.headers.authorization);
  let grant = token === undefined ? undefined : world.tokens.find(token);
  const exchange = new Exchange(world, request, reply, grant?.app, true);
  if (exchange.fault?.kind === 'token-revoked' && token !== undefined) {
    world.tokens.revoke({ token }, exchange.fault.stuck);
    grant = undefined;
  }
  if (isCutShort(exchange)) return;
  if (token === undefined) exchange.deliver(failure(400, 99991661, 'Missing access token for authorization.'));
  else if (grant === undefined) {
    // A user's token has a code of its own, and a status that does not vary.
    const [status, code] = token.startsWith('u-') ? [400, 99991668] : [world.settings.tokenErrorStatus, 99991663];
    exchange.deliver(failure(status, code, 'Invalid access token for authorization.'));
  } else admit(world, endpoint.api, callOf(request, grant), endpoint.accept, exchange);
}

/** An upstream without tokens. */
export function serveOpen(
  world: World,
  api: Api,
  accept: (call: ApiCall) => Job | Answer,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const exchange = new Exchange(world, request, reply, undefined, true);
  if (!isCutShort(exchange)) admit(world, api, callOf(request, nobody), accept, exchange);
}

/** What is no API: tokens, health, unknown paths. Meets only faults whose rule names its path. */
export function serveAside(world: World, answer: () => Answer, request: FastifyRequest, reply: FastifyReply): void {
  const exchange = new Exchange(world, request, reply, undefined, false);
  if (isCutShort(exchange)) return;
  const { lateByMs } = exchange;
  const act = (): void => exchange.deliver(request.body === unreadable ? notJson() : answer(), lateByMs);
  if (lateByMs > 0) world.timers.after(lateByMs, act);
  else act();
}

/** True when the fault ends the request before anything has been looked at. */
function isCutShort(exchange: Exchange): boolean {
  const { fault } = exchange;
  if (fault === undefined) return false;
  if (fault.kind === 'reset-before') {
    exchange.reset();
    return true;
  }
  if (fault.kind === 'timeout' && fault.acts !== true) {
    exchange.swallow();
    return true;
  }
  const forged = forgedAnswer(fault);
  if (forged !== undefined) exchange.send(forged);
  return forged !== undefined;
}

function admit(
  world: World,
  api: Api,
  call: ApiCall,
  accept: (call: ApiCall) => Job | Answer,
  exchange: Exchange,
): void {
  const { app, tenant } = call.grant;
  const nowMs = world.clock.now();
  const refusal = world.limits.arrive(app, tenant, api, nowMs);
  if (refusal !== undefined) {
    const resetSeconds = Math.ceil(refusal.waitMs / 1_000);
    exchange.deliver(rateLimited(world.settings.refusalStatus, resetSeconds, refusal.limit));
    return;
  }
  const accepted = call.body === unreadable ? notJson() : accept(call);
  if (isAnswer(accepted)) exchange.deliver(accepted);
  else if (accepted.chat !== undefined && world.limits.refusesChat(tenant, accepted.chat, nowMs)) {
    exchange.deliver(failure(400, 230020, 'This operation triggers the frequency limit.'));
  } else perform(world, api, call, accepted, exchange);
}

function perform(world: World, api: Api, call: ApiCall, job: Job, exchange: Exchange): void {
  if (job.once !== undefined) {
    const known = world.replay.begin(job.once.key, world.clock.now());
    if (known.state !== 'new') {
      exchange.deliver(known.state === 'in-flight' ? job.once.inFlight : job.answer(known.seq, known.atMs));
      return;
    }
  }
  const { lateByMs } = exchange;
  const waitMs = world.settings.latencyMs + (job.delayMs ?? 0) + lateByMs;
  const act = (): void => exchange.deliver(effect(world, api, call, job), lateByMs);
  if (waitMs > 0) world.timers.after(waitMs, act);
  else act();
}

/** Changes what the job changes, whether or not anybody still waits for the answer. */
function effect(world: World, api: Api, { grant, headers, query, body }: ApiCall, job: Job): Answer {
  const atMs = world.clock.now();
  if (job.marker === undefined) return job.answer(0, atMs);
  const seq = ++world.seq;
  job.act?.(seq);
  world.ledger.record({
    seq,
    api,
    app: grant.app,
    ...job.marker,
    requestId: textOf(headers['x-request-id']),
    idempotencyKey: textOf((body as { uuid?: unknown } | undefined)?.uuid) ?? textOf(query['client_token']),
    atMs,
  });
  if (job.once !== undefined) world.replay.end(job.once.key, seq, atMs);
  return job.answer(seq, atMs);
}

function callOf({ params, query, headers, body }: FastifyRequest, grant: Grant): ApiCall {
  return {
    grant,
    params: params as ApiCall['params'],
    query: query as ApiCall['query'],
    headers,
    // A missing body reads like an empty one: the field checks then name what is missing.
    body: body ?? {},
  };
}

function bearerOf(header: string | undefined): string | undefined {
  return header?.startsWith('Bearer ') === true ? header.slice('Bearer '.length) : undefined;
}

function notJson(): Answer {
  return failure(400, 9499, 'Bad Request: the body is not a JSON object');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
