import type { Wait } from '../../model/explanation.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { Job } from '../job.ts';

import type { Looked } from './find-record.ts';

/** A monotonic time as people read it; nothing for "until something happens". */
export function wallTime(clock: Clock, atMs: number): string | undefined {
  return Number.isFinite(atMs) ? isoTime(clock.wall() + (atMs - clock.now())) : undefined;
}

/** No further attempt may begin. */
export function slots({ destination: { name, slots: places } }: Job): Wait {
  return {
    what: 'slot',
    on: name,
    why: `${places.inUse} of ${places.limit} attempts at ${name} are under way, so no further one may begin`,
    cure: `see why they take long (/admin/api-health); upstreams.${name}.concurrency sets how many there may be`,
  };
}

/** A limit, or the rest after a refusal. */
export function quota({ destination, plan, attempts }: Job, key: string, { clock }: Looked): Wait {
  const limit = plan.limits.find((one) => one.key === key) ?? plan.limits[0];
  const nowMs = clock.now();
  const own = destination.limiter.earliestMs(plan.limits, nowMs);
  const until = wallTime(clock, own.atMs);
  const said = attempts.at(-1);
  const refused = said?.class === 'rate-limited' || said?.class === 'quota';
  const scope = key.split('|')[3];
  const what = scope === 'receiver' ? 'receiver-limit' : scope === 'month' ? 'monthly-quota' : 'quota';
  const whose =
    what === 'receiver-limit'
      ? 'this receiver (chat or user)'
      : what === 'monthly-quota'
        ? 'this tenant and month'
        : 'this API';
  return {
    what,
    on: key,
    why: refused
      ? `${destination.name} has refused a call of ${whose} (${said.message ?? said.class}), so all workers rest until it takes calls again`
      : `as many calls of ${whose} have started as the limit allows: ${windowsText(limit)}`,
    cure:
      what === 'monthly-quota'
        ? 'wait for the month to end, or buy more quota'
        : 'nothing: it goes on by itself. Fewer calls, or a higher tier at the platform, make it faster',
    ...(until === undefined ? {} : { until }),
  };
}

function windowsText(limit: LimitKey | undefined): string {
  const windows = limit?.windows ?? [];
  if (windows.length === 0) return 'a limit that the platform does not tell';
  return windows.map(({ limit: most, windowMs }) => `${most} in ${windowMs} ms`).join(', ');
}

/** The upstream is not called at present. */
export function breaker({ destination, plan, breaker: own, attempts }: Job, { clock }: Looked): Wait {
  const seen = own?.snapshot(clock.now());
  const forced = seen?.forced === undefined ? '' : ' by a person';
  const said = attempts.at(-1);
  const last = said === undefined ? '' : `; this call's last attempt: ${said.message ?? said.class}`;
  return {
    what: 'breaker',
    on: plan.breakerKey,
    why: `${destination.name} is not called at present: its breaker is ${seen?.state ?? 'open'}${forced}${last}`,
    cure: `see what ${destination.name} answers (/admin/api-health); the breaker tries again by itself`,
  };
}

/** As many records are under way as may be. */
export function turnIsMissing({ lanes, maxInTurn }: Looked): Wait[] {
  if (lanes.inTurn < maxInTurn) return [];
  return [
    {
      what: 'turn',
      on: 'this worker',
      why: `${lanes.inTurn} records are under way, as many as this worker takes on; many of them may wait to be written`,
      cure: 'if it lasts: `larkspur topics check` and `larkspur doctor`; worker.inFlight sets how many there may be',
    },
  ];
}
