import type { Wait } from '../../model/explanation.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { Job } from '../job.ts';
import type { WaitReason } from '../waits.ts';

import type { Looked } from './find-record.ts';

/** What a call waits for, as a part of a sentence. */
export const waitWords: Readonly<Record<WaitReason, string>> = {
  'upstream-slots': 'a free place at its upstream',
  'rate-limit': 'quota',
  'half-hour': 'its second after the full or half hour',
  breaker: 'its upstream, which is not called at present',
  paused: 'its upstream, which is paused',
  retry: 'its next attempt',
  claim: 'its claim',
  token: 'a token',
  brake: 'its upstream, which suddenly refuses everything',
  order: 'an earlier call of its key',
  'full-lane': 'room in the lane of its tenant',
};

/** A monotonic time as people read it; nothing for "until something happens". */
export function wallTime(clock: Clock, atMs: number): string | undefined {
  return Number.isFinite(atMs) ? isoTime(clock.wall() + (atMs - clock.now())) : undefined;
}

/** No further attempt may begin. */
export function slots({ destination: { name, place, slots: places, width }, plan: { group } }: Job): Wait {
  const narrowed = width.narrowed ? '; timeouts have narrowed how many there may be, answers widen it again' : '';
  const own = group === undefined ? '' : `groups.${group}.`;
  return {
    what: 'slot',
    on: place,
    why: `${places.inUse} of ${places.limit} attempts at ${place} are under way, so no further one may begin${narrowed}`,
    cure: `see why they take long (/admin/api-health); upstreams.${name}.${own}concurrency sets how many there may be`,
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
  const state = seen?.forced === undefined ? (seen?.state ?? 'open') : `held ${seen.forced}`;
  const said = attempts.at(-1);
  const last = said === undefined ? '' : `; this call's last attempt: ${said.message ?? said.class}`;
  return {
    what: 'breaker',
    on: plan.breakerKey,
    why: `${destination.name} is not called at present: its breaker is ${state}${last}`,
    cure: `see what ${destination.name} answers (/admin/api-health); the breaker tries again by itself`,
  };
}

/** Somebody has paused the upstream. */
export function paused({ destination: { name } }: Job, { pauses }: Looked): Wait {
  return {
    what: 'paused',
    on: name,
    why: `${name} is paused by ${pauses.heldBy(name).join(' and ')}`,
    cure: `let it go on: PUT /admin/pauses/${name} with {"paused":false,"by":"..."}; /admin/playbooks shows what paused it`,
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

/** Its tenant has more here than its share, so it waits in a delay topic. */
export function fullLane(job: Job, { overflow }: Looked): Wait {
  const { call, plan, destination } = job;
  const whose = call.tenant ?? call.app;
  return {
    what: 'full-lane',
    on: plan.limits[0]?.key ?? destination.name,
    why: `${whose === undefined ? 'callers without a tenant have' : `${whose} has`} ${overflow.here(job)} calls of this API before it in this worker, its full share, so it waits in a delay topic and others go on`,
    cure: 'nothing: it comes back when the others have gone. Fewer calls, or a higher tier at the platform, make it faster',
  };
}

/** Of Redis, and of the embedded store, which words do not tell apart here. */
export const storeAway = 'the store of claims does not answer';
/** What to do about it. */
export const storeCure =
  'bring it back (Redis, or the disk of the embedded store): the call goes on by itself; `larkspur doctor` says what is wrong with it';

/** An earlier call of its key waits in a delay topic. */
export function behindOutside(job: Job, { lines }: Looked): Wait {
  const ahead = lines.ahead(job);
  if (ahead !== undefined)
    return keyIsParked(keyText(job), `calls/${job.received.partition.partition}/${ahead.offset}`);
  return {
    what: 'order',
    on: keyText(job),
    why: 'it is not known yet whether an earlier call of its key waits outside of the workers: the store that tells is not there',
    cure: storeCure,
  };
}

/** @param first what names the call that waits outside */
export function keyIsParked(key: string, first: string): Wait {
  return {
    what: 'order',
    on: key,
    why: `an earlier call of the key ${key} waits outside of the workers and must end first: ${first}`,
    cure: `\`larkspur explain ${first}\` says why that one waits; calls that need no order among each other should have different keys, or none`,
  };
}

/** The key in whose order a call stands, as people know it. */
export function keyText({ call, received: { record } }: Job): string {
  return call.orderingKey ?? record.key?.toString('utf8') ?? '';
}

/** The call has its ending, and its claim does not know yet. */
export function toBeEnded({ claims }: Looked): Wait {
  return {
    what: 'claim',
    on: 'the store of claims',
    why: claims.ready()
      ? 'the call has ended, and the store of claims is being told'
      : `the call has ended, and ${storeAway}: its ending is written there first`,
    cure: claims.ready() ? 'nothing' : storeCure,
  };
}

/** The record of an ending is on its way to its topic. */
export function toBeWritten(topic: string, { sink, clock }: Looked): Wait {
  const trouble = sink.trouble(topic);
  const since = trouble?.sinceMs === undefined ? undefined : wallTime(clock, trouble.sinceMs);
  return {
    what: 'topic',
    on: topic,
    why: `its record is not acknowledged by ${topic} yet${trouble === undefined ? '' : `: ${trouble.why}`}`,
    cure: `${trouble?.cure ?? 'if it lasts: `larkspur topics check` and `larkspur doctor`'}; the topic may be missing, full, or without enough replicas in sync, and nothing is lost meanwhile`,
    ...(since === undefined ? {} : { since }),
  };
}
