import type { Wait } from '../../model/explanation.ts';
import type { Job } from '../job.ts';

import { lastSaid } from './attempt-steps.ts';
import { findRecord, type Looked } from './find-record.ts';
import { placeText } from './places.ts';
import { behindOutside, breaker, fullLane, paused, quota, storeAway, waitWords, wallTime } from './wait-words.ts';

/** A call that waits for a time, and what is behind that. */
export function asleep(job: Job, untilMs: number, house: Looked): Wait[] {
  const { longWait } = job;
  if (longWait !== undefined && longWait.untilMs > house.clock.now()) return outside(job, house);
  return [sleeping(job, untilMs, house), ...behindSleep(job, house)];
}

function sleeping(job: Job, untilMs: number, house: Looked): Wait {
  const { destination, plan } = job;
  const time = timed(job, untilMs, house);
  const ended = lastSaid(job.attempts);
  switch (job.waitingFor) {
    case 'rate-limit':
      return { ...quota(job, job.plan.limits[0]?.key ?? '', house), ...time };
    case 'breaker':
      return { ...breaker(job, house), ...time };
    case 'claim':
      return {
        what: 'claim',
        on: job.id,
        why: house.claims.ready() ? 'another worker is at the same call' : storeAway,
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
    case 'order':
      return { ...behindOutside(job, house), ...time };
    case 'paused':
      return { ...paused(job, house), ...time };
    case 'retry':
    case 'half-hour':
    case 'upstream-slots':
    case 'full-lane':
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

/** The wait of a call that was put into a delay topic, and what is behind that. */
export function outside(job: Job, house: Looked): Wait[] {
  return [
    { ...outsideFor(job, house), ...timed(job, job.longWait?.untilMs ?? Infinity, house) },
    ...behindSleep(job, house),
  ];
}

function outsideFor(job: Job, house: Looked): Wait {
  if (job.waitingFor === 'order') return behindOutside(job, house);
  if (job.waitingFor === 'full-lane') return fullLane(job, house);
  const ended = lastSaid(job.attempts);
  return {
    what: 'delay',
    on: placeText(job.received.record),
    why: `it waits outside of the workers for ${waitWords[job.waitingFor ?? 'retry']}${ended}`,
    cure: 'nothing: it comes back by itself; see the attempts for why it had to go',
  };
}

/** What a call that waits for a time will meet then, as things are: the first call of its key, an open breaker. */
function behindSleep(job: Job, house: Looked): Wait[] {
  if (job.waitingFor === 'order') {
    const { received } = job;
    const offset = house.lines.ahead(job)?.offset;
    if (offset === undefined) return [];
    const ref = { kind: 'place', topic: 'calls', partition: received.partition.partition, offset } as const;
    const found = findRecord(house, ref);
    return found?.kind === 'ring' && found.item.kind === 'call' ? outside(found.item, house) : [];
  }
  const { breaker: own, waitingFor } = job;
  const isOpen = own?.snapshot(house.clock.now()).state === 'open';
  return isOpen && waitingFor !== 'breaker' ? [breaker(job, house)] : [];
}

/** Since when a call waits, and until when. */
export function timed(job: Job, untilMs: number, { clock }: Looked): Pick<Wait, 'since' | 'until'> {
  const since = job.waitingFor === undefined ? undefined : wallTime(clock, job.waitsSinceMs(clock.now()));
  const until = wallTime(clock, untilMs);
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}
