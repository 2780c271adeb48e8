import type { Wait } from '../../model/explanation.ts';
import type { LaneEntry } from '../../operators/lanes/lane.ts';
import type { Decoded, Job } from '../job.ts';

import type { Looked } from './find-record.ts';
import { asleep, timed } from './sleep.ts';
import {
  breaker,
  paused,
  quota,
  slots,
  storeAway,
  storeCure,
  toBeEnded,
  toBeWritten,
  turnIsMissing,
  wallTime,
} from './wait-words.ts';

// Of a record that is no call, the only thing that is ever written.
const deadLetterTopic = 'dead-letters';

/** What a lane's head waits for, and what is behind that. */
export function waitsOfHead({ item, state, room, untilMs }: LaneEntry<Decoded>, house: Looked): Wait[] {
  if (item.kind !== 'call') return state === 'busy' ? [toBeWritten(deadLetterTopic, house)] : [];
  switch (state) {
    case 'busy':
      return underWay(item, house);
    case 'asleep':
      return asleep(item, untilMs ?? house.clock.now(), house);
    case 'waiting':
      return inRoom(item, room ?? '', house);
    case 'ready':
    case 'idle':
      return turnIsMissing(house);
  }
}

/** What a call that is under way is at. */
function stepOf({ door, claim }: Job): 'claim' | 'door' | 'attempt' | 'settle' {
  if (!door.here) return 'settle';
  if (claim === undefined) return 'claim';
  return door.promised ? 'door' : 'attempt';
}

function underWay(job: Job, house: Looked): Wait[] {
  const { destination, plan } = job;
  if (job.seat === 'ride') return [inBatch(job)];
  switch (stepOf(job)) {
    case 'claim':
      return [claimStore(job, house)];
    case 'door':
      if (destination.slots.waiting > 0) return [slots(job), ...hanging(job, house)];
      return [
        {
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
      return [job.writesTo === undefined ? toBeEnded(house) : toBeWritten(job.writesTo, house)];
  }
}

function inBatch({ destination: { name, attemptMs } }: Job): Wait {
  return {
    what: 'answer',
    on: name,
    why: 'it goes in one request with others of its API, because there is not quota for each',
    cure: `nothing: the request is given up after ${attemptMs} ms, and a call that missed it goes with another`,
  };
}

function claimStore(job: Job, { claims }: Looked): Wait {
  return claims.ready()
    ? { what: 'claim', on: job.id, why: 'the store of claims is being asked', cure: 'nothing' }
    : {
        what: 'claim',
        on: 'the store of claims',
        why: `${storeAway}, and this call is not safe without a claim`,
        cure: storeCure,
      };
}

function inRoom(job: Job, room: string, house: Looked): Wait[] {
  const stats = house.lanes.roomStats(room);
  const untilMs = stats?.untilMs ?? Infinity;
  const more = { ...timed(job, untilMs, house), ahead: Math.max(0, (stats?.lanes ?? 1) - 1) };
  const kind = room.split(':', 1)[0] ?? '';
  switch (kind) {
    case 'limit':
      return [{ ...quota(job, bucketOf(room, job), house), ...more }];
    case 'breaker':
      return [{ ...breaker(job, house), ...more }];
    case 'paused':
      return [{ ...paused(job, house), ...more }];
    case 'half-hour':
      return [
        {
          what: 'quota',
          on: job.destination.name,
          why: 'everybody calls at full and half hours, so bulk calls are spread over some time after them',
          cure: `nothing: it goes on by itself; upstreams.${job.destination.name}.bulkSpreadMs sets over how long`,
          ...more,
        },
      ];
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

/** The key of the bucket; behind it may stand what those ask who can go together. */
function bucketOf(room: string, { destination: { name } }: Job): string {
  return room.slice(`limit:${name}:`.length).split('\n', 1)[0] ?? '';
}
