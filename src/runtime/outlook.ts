import type { Outlook } from '../ingress/result-desk.ts';
import type { Call } from '../model/call.ts';
import { mayHaveFallback } from '../pipeline/has-fallback.ts';
import type { House } from '../pipeline/house.ts';

/** Whether a call's breaker is open here and nothing stands in for an answer: then a client need not wait for one. */
export function outlookOf({ destinations, clock }: House, call: Call, id: string): Outlook | undefined {
  const destination = destinations.get(call.upstream ?? 'feishu');
  if (destination === undefined) return undefined;
  const plan = destination.profile.plan(call, id);
  if ('reason' in plan) return undefined;
  const nowMs = clock.now();
  const untilMs = destination.breakers?.find(plan.breakerKey)?.peek(nowMs);
  if (untilMs === undefined || mayHaveFallback({ call, destination })) return undefined;
  return { upstream: destination.name, forMs: untilMs - nowMs };
}
