import type { FastifyInstance, FastifyReply } from 'fastify';

import { isTree } from '../../model/schema-words.ts';
import { parsePlan } from '../events/parse-plan.ts';
import type { Sandbox } from '../sandbox-api.ts';

/** `/_sandbox/...`: what tests and people use to steer the sandbox and to read what happened. No fault ever hits it. */
export function controlRoutes(server: FastifyInstance, sandbox: Sandbox): void {
  const lastOf = (query: unknown): number => Number((query as { last?: string }).last ?? 100) || 0;

  server.get('/_sandbox/effects', ({ query }) => sandbox.effects(lastOf(query)));
  server.get('/_sandbox/requests', ({ query }) => ({ requests: sandbox.requests(lastOf(query)) }));
  server.get('/_sandbox/bots', () => ({ posts: sandbox.bots.posts() }));
  server.get('/_sandbox/stats', () => sandbox.stats());
  server.get('/_sandbox/faults', () => sandbox.faults());
  server.put('/_sandbox/faults', ({ body }, reply) => {
    const mistakes = sandbox.setFaults(body);
    return mistakes.length > 0 ? problem(reply, 'the rules have mistakes', mistakes) : sandbox.faults();
  });
  server.delete('/_sandbox/faults', () => {
    sandbox.setFaults([]);
    return sandbox.faults();
  });
  server.get('/_sandbox/settings', () => sandbox.settings());
  server.put('/_sandbox/settings', ({ body }, reply) => {
    const mistakes = sandbox.configure(body);
    return mistakes.length > 0 ? problem(reply, 'the settings have mistakes', mistakes) : sandbox.settings();
  });
  server.get('/_sandbox/verdict', ({ query }, reply) => {
    const calls = Number((query as { calls?: string }).calls);
    if (!Number.isInteger(calls) || calls < 0) return problem(reply, 'calls must be the number of expected calls', []);
    return sandbox.verdict({ calls });
  });
  server.post('/_sandbox/verdict', ({ body }, reply) => {
    const { calls } = (body ?? {}) as { calls?: unknown };
    const perKey = typeof calls === 'object' && calls !== null ? Object.values(calls) : [calls];
    if (!perKey.every((count) => Number.isInteger(count) && (count as number) >= 0)) {
      return problem(reply, 'calls must be a number, or an object of key to number', []);
    }
    return sandbox.verdict({ calls: calls as number | Record<string, number> });
  });
  server.post('/_sandbox/tokens/revoke', ({ body = {} }, reply) => {
    const { app, stuck = false } = isTree(body) ? body : { app: 0 };
    // A mistake must not revoke the tokens of all apps.
    if ((app !== undefined && typeof app !== 'string') || typeof stuck !== 'boolean')
      return problem(reply, 'the body must be an object, in which app is an app id and stuck true or false', []);
    return { revoked: sandbox.revokeTokens({ ...(app !== undefined && { app }), stuck }) };
  });
  server.post('/_sandbox/events', async ({ body }, reply) => {
    const { plan, mistakes } = parsePlan(body);
    return plan === undefined ? problem(reply, 'the plan has mistakes', mistakes) : sandbox.sendEvents(plan);
  });
  server.post('/_sandbox/reset', () => {
    sandbox.reset();
    return { reset: true };
  });
}

function problem(reply: FastifyReply, detail: string, mistakes: readonly string[]): FastifyReply {
  return reply
    .code(400)
    .header('content-type', 'application/problem+json')
    .send({ type: 'about:blank', title: 'Bad Request', status: 400, detail, mistakes });
}
