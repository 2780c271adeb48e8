import type { Wait } from '../../model/explanation.ts';
import type { LaneEntry } from '../../operators/lanes/lane.ts';
import type { Decoded, Job } from '../job.ts';

import type { Looked } from './find-record.ts';
import { placeText } from './places.ts';
import { breaker, quota, slots, turnIsMissing, wallTime } from './wait-words.ts';

/** What a lane's head waits for, and what is behind that. */
export function waitsOfHead({ item, state, room, untilMs }: LaneEntry<Decoded>, house: Looked): Wait[] {
  if (item.kind !== 'call') return state === 'busy' ? [toBeWritten('dead-letters', house)] : [];
  switch (state) {
    case 'busy':
      return underWay(item, house);
    case 'asleep':
      return [asleep(item, untilMs ?? house.clock.now(), house)];
    case 'waiting':
      return inRoom(item, room ?? '', house);
    case 'ready':
    case 'idle':
      return turnIsMissing(house);
  }
}

function timed(job: Job, untilMs: number, { clock }: Looked): Pick<Wait, 'since' | 'until'> {
  const since = job.waitingFor === undefined ? undefined : wallTime(clock, job.waitsSinceMs(clock.now()));
  const until = wallTime(clock, untilMs);
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}

/** What a call that is under way is at. */
function stepOf({ door, claim }: Job): 'claim' | 'door' | 'attempt' | 'settle' {
  if (!door.here) return 'settle';
  if (claim === undefined) return 'claim';
  return door.promised ? 'door' : 'attempt';
}

function underWay(job: Job, house: Looked): Wait[] {
  const { destination, plan } = job;
  switch (stepOf(job)) {
    case 'claim':
      return [claimStore(job, house)];
    case 'door':
      return [
        destination.slots.waiting > 0
          ? slots(job)
          : {
              what: 'token',
              on: plan.token?.app ?? destination.name,
              why: 'a token is being fetched, or the quota log is being asked',
              cure: 'nothing, unless it lasts: then see the token refreshes in the metrics and `larkspur doctor`',
            },
      ];
    case 'attempt': {
      const since = wallTime(house.clock, job.lastAttemptMs);
      const until = wallTime(house.clock, job.lastAttemptMs + destination.attemptMs);
      return [
        {
          what: 'answer',
          on: destination.name,
          why: `the request is out and ${destination.name} has not answered yet`,
          cure: `nothing: the attempt is given up after ${destination.attemptMs} ms; if many hang, see /admin/api-health`,
          ...(since === undefined ? {} : { since }),
          ...(until === undefined ? {} : { until }),
        },
      ];
    }
    case 'settle':
      return [toBeWritten('results or dead-letters', house)];
  }
}

function claimStore(job: Job, { claims }: Looked): Wait {
  return claims.ready()
    ? { what: 'claim', on: job.id, why: 'the store of claims is being asked', cure: 'nothing' }
    : {
        what: 'claim',
        on: 'the store of claims',
        why: 'Redis does not answer, and this call is not safe without a claim',
        cure: 'bring Redis back: the call goes on by itself; `larkspur doctor` says what is wrong with it',
      };
}

function toBeWritten(topic: string, { claims }: Looked): Wait {
  const on = claims.ready() ? topic : 'the store of claims';
  return {
    what: 'topic',
    on,
    why: `the call has ended, and its record is not acknowledged by ${on} yet`,
    cure: 'if it lasts: `larkspur topics check` and `larkspur doctor`; the topic may be missing, full, or without enough replicas in sync',
  };
}

function asleep(job: Job, untilMs: number, house: Looked): Wait {
  const { destination, plan, longWait } = job;
  const said = job.attempts.at(-1);
  const time = timed(job, untilMs, house);
  const ended = said === undefined ? '' : `; the last attempt ended with: ${said.message ?? said.class}`;
  if (longWait !== undefined && longWait.untilMs > house.clock.now()) return outside(job, house);
  switch (job.waitingFor) {
    case 'rate-limit':
      return { ...quota(job, job.plan.limits[0]?.key ?? '', house), ...time };
    case 'breaker':
      return { ...breaker(job, house), ...time };
    case 'claim':
      return {
        what: 'claim',
        on: job.id,
        why: house.claims.ready() ? 'another worker is at the same call' : 'Redis does not answer',
        cure: 'nothing: it is asked for again until the other has ended or its lease is over',
        ...time,
      };
    case 'token':
      return {
        what: 'token',
        on: plan.token?.app ?? destination.name,
        why: 'the platform gives no token at present',
        cure: 'see whether the platform is well; `larkspur doctor` asks for a token of each app',
        ...time,
      };
    case 'brake':
      return {
        what: 'brake',
        on: destination.name,
        why: `${destination.name} suddenly refuses everything, so few calls may end as dead letters${ended}`,
        cure: 'mend what it names: the calls that wait are tried again then, and need no redrive',
        ...time,
      };
    case 'retry':
    case 'upstream-slots':
    case 'order':
    case 'room':
    case undefined:
      return {
        what: 'retry',
        on: destination.name,
        why: `an attempt has failed and the next one comes after a back-off${ended}`,
        cure: 'nothing: see the attempts; if all fail, the upstream is sick',
        ...time,
      };
  }
}

/** The wait of a call that was put into a delay topic. */
export function outside(job: Job, house: Looked): Wait {
  const said = job.attempts.at(-1);
  const ended = said === undefined ? '' : `; the last attempt ended with: ${said.message ?? said.class}`;
  return {
    what: 'delay',
    on: placeText(job.received.record),
    why: `it waits outside of the workers for ${job.waitingFor ?? 'its time'}${ended}`,
    cure: 'nothing: it comes back by itself; see the attempts for why it had to go',
    ...timed(job, job.longWait?.untilMs ?? Infinity, house),
  };
}

function inRoom(job: Job, room: string, house: Looked): Wait[] {
  const stats = house.lanes.roomStats(room);
  const untilMs = stats?.untilMs ?? Infinity;
  const more = { ...timed(job, untilMs, house), ahead: Math.max(0, (stats?.lanes ?? 1) - 1) };
  const kind = room.split(':', 1)[0] ?? '';
  switch (kind) {
    case 'limit':
      return [{ ...quota(job, room.slice(`limit:${job.destination.name}:`.length), house), ...more }];
    case 'breaker':
      return [{ ...breaker(job, house), ...more }];
    case 'slots':
      return [{ ...slots(job), ...more }, ...hanging(job, house)];
    case 'bucket':
      return [
        {
          ...slots(job),
          on: room.slice('bucket:'.length),
          why: `${job.destination.bucketLimit} calls of its quota bucket are under way, as many as may be at once`,
          ...more,
        },
        ...hanging(job, house),
      ];
    case 'serial':
      return [
        {
          what: 'resource',
          on: room.slice('serial:'.length),
          why: 'the upstream takes one call at a time on this resource, and another one is under way',
          cure: 'nothing: they go one after the other',
          ...more,
        },
      ];
    default:
      return [
        {
          what: 'drain',
          on: 'this worker',
          why: 'this worker is stopping',
          cure: 'nothing: another worker takes over',
          ...more,
        },
      ];
  }
}

/** What keeps the slots: the attempt that has been out the longest. */
function hanging({ destination }: Job, house: Looked): Wait[] {
  let oldest: Job | undefined;
  for (const { item, state, ahead } of house.lanes.entries()) {
    if (state !== 'busy' || ahead > 0 || item.kind !== 'call' || item.destination !== destination) continue;
    if (stepOf(item) !== 'attempt') continue;
    if (oldest === undefined || item.lastAttemptMs < oldest.lastAttemptMs) oldest = item;
  }
  return oldest === undefined ? [] : underWay(oldest, house);
}
