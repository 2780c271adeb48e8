import { Draws, faultSpanMs } from './draws.ts';
import { interfered, type LeftAlone } from './interfere.ts';
import type { Answer, CallKind, Fault, Op, Plan, PlannedCall, Sizes } from './plan.ts';

const trouble: readonly Answer[] = [
  'refused',
  'reset-before',
  'reset-after',
  'error-before',
  'error-after',
  'limited',
  'hang-before',
  'hang-after',
  'late',
  'slow',
  'wrong',
];
const ops: readonly Op[] = ['quota', 'claim', 'park', 'extend', 'finish', 'send', 'append', 'commit'];

/**
 * The plan of a seed: sizes, calls and faults. Some worlds are calm, some have one kind of trouble, some all of it; in two
 * of seven people cancel calls and pause upstreams.
 */
export function planOf(seed: number): Plan {
  const plan = leftAlone(seed);
  return [1, 4].includes(seed % 7) ? interfered(plan) : { ...plan, cancels: [] };
}

function leftAlone(seed: number): LeftAlone {
  const draws = new Draws(seed);
  if (seed % 12 === 5) return floodPlan(seed, draws);
  if (draws.chance(0.05)) return isolationPlan(seed, draws);
  const sizes: Sizes = { ...sizesOf(draws), parkFullLanes: seed % 2 === 0 };
  const calls = callsOf(draws);
  return { seed, sizes, calls, faults: faultsOf(draws, sizes, calls.length) };
}

/** One upstream hangs or fails for a long time, and nothing else happens at all. */
function isolationPlan(seed: number, draws: Draws): LeftAlone {
  const sizes: Sizes = {
    ...sizesOf(draws),
    ringCapacity: 64,
    laneItems: 256,
    maxInTurn: 64,
    concurrency: draws.whole(1, 4),
    processSlots: 32,
    perSecond: 0,
  };
  const forMs = draws.between(20_000, 60_000);
  const how = draws.pick<Answer>(['hang-before', 'hang-before', 'hang-after', 'refused', 'error-before', 'limited']);
  const calls = callsOf(draws).map((call): PlannedCall => {
    const fails = call.kind === 'post' || call.kind === 'get';
    // Of one key, the other upstream's calls would have to wait: that is what order means.
    return { ...call, answers: [], key: call.key === null ? null : `${fails ? 'news' : 'feishu'} ${call.key}` };
  });
  const faults: Fault[] = [{ kind: 'upstream', upstream: 'news', atMs: 0, forMs, how }];
  return { seed, sizes, calls, faults, spared: 'feishu' };
}

/** One upstream gets far more at once than its rate; some of the other's calls stand behind that. */
function floodPlan(seed: number, draws: Draws): LeftAlone {
  const replicas = draws.whole(1, 2);
  const sizes: Sizes = {
    ...sizesOf(draws),
    replicas,
    partitions: draws.whole(1, 2),
    ringCapacity: 64,
    laneItems: draws.whole(40, 80),
    parkFullLanes: true,
    maxInTurn: draws.whole(4, 32),
    concurrency: draws.whole(2, 4),
    processSlots: 32,
    perSecond: draws.whole(1, 2),
  };
  const keys = draws.whole(3, 30);
  const kind = draws.pick<CallKind>(['reaction', 'read']);
  const base = { chat: 'oc_1', ttlMs: undefined, retry: true, priority: 'normal', answers: [], large: false } as const;
  const flood = Array.from({ length: draws.whole(100, 200) }, (_, n): PlannedCall => {
    const key = draws.chance(0.7) ? `k${draws.whole(1, keys)}` : null;
    return { ...base, id: `c${n}`, atMs: draws.between(0, 1_000), kind, key };
  });
  const behind = Array.from({ length: draws.whole(3, 8) }, (_, n): PlannedCall => {
    const kind = draws.pick<CallKind>(['post', 'get']);
    return { ...base, id: `n${n}`, atMs: draws.between(5_000, 40_000), kind, key: `news ${n}` };
  });
  const calls = [...flood, ...behind].sort((a, b) => a.atMs - b.atMs);
  const faults = draws.chance(0.3) ? [] : faultsOf(draws, sizes, calls.length);
  return { seed, sizes, calls, faults, ...(faults.length === 0 ? { spared: 'news' } : {}) };
}

function sizesOf(draws: Draws): Sizes {
  const tight = draws.chance(0.4);
  const concurrency = draws.whole(1, tight ? 3 : 16);
  return {
    replicas: draws.whole(1, 3),
    partitions: draws.whole(1, 4),
    ringCapacity: tight ? 16 : 64,
    laneItems: tight ? draws.whole(4, 16) : 128,
    parkFullLanes: false,
    maxInTurn: tight ? draws.whole(2, 8) : 64,
    concurrency,
    processSlots: draws.chance(0.3) ? Math.max(1, concurrency - 1) : 32,
    perSecond: draws.chance(0.4) ? draws.whole(2, 10) : 0,
    commitEveryMs: draws.pick([200, 1_000, 3_000]),
    fetch: draws.whole(1, 12),
    holes: draws.chance(0.3) ? 0.3 : 0,
    newsKey: draws.chance(0.7),
  };
}

function callsOf(draws: Draws): PlannedCall[] {
  const count = draws.whole(20, draws.chance(0.2) ? 200 : 80);
  const spanMs = draws.pick([50, 5_000, 20_000]);
  const keys = draws.whole(2, 16);
  const shaky = draws.pick([0, 0.1, 0.4]);
  const kinds: readonly CallKind[] = draws.chance(0.3)
    ? [draws.pick(['message', 'reaction'])]
    : ['message', 'message', 'reaction', 'reaction', 'read', 'post', 'get'];
  const calls: PlannedCall[] = [];
  for (let i = 0; i < count; i++) {
    const first = calls[draws.whole(0, i)];
    const repeated = draws.chance(0.05) ? first : undefined;
    const odd = draws.chance(0.02);
    const answers: Answer[] = [];
    while (answers.length < 4 && draws.chance(shaky)) answers.push(draws.pick(trouble));
    const call: PlannedCall = {
      id: `c${i}`,
      atMs: draws.between(0, spanMs),
      kind: odd ? draws.pick(['poison', 'tombstone']) : draws.pick(kinds),
      key: draws.chance(0.85) ? `k${draws.whole(1, keys)}` : null,
      chat: `oc_${draws.whole(1, 4)}`,
      ttlMs: draws.chance(0.1) ? draws.between(500, 60_000) : undefined,
      retry: !draws.chance(0.05),
      priority: draws.pick(['interactive', 'normal', 'normal', 'bulk']),
      answers,
      large: draws.chance(0.03),
    };
    // The same call produced twice: mostly by the same producer, so under the same key.
    if (repeated === undefined) calls.push(call);
    else calls.push({ ...repeated, atMs: call.atMs, key: draws.chance(0.8) ? repeated.key : call.key });
  }
  return calls.sort((a, b) => a.atMs - b.atMs);
}

type Family = 'processes' | 'group' | 'claims' | 'topics' | 'upstreams' | 'clocks';
const families: readonly Family[] = ['processes', 'processes', 'group', 'claims', 'topics', 'upstreams', 'clocks'];

function faultsOf(draws: Draws, { replicas }: Sizes, calls: number): Fault[] {
  const mood = draws.between(0, 1);
  if (mood < 0.05) return [];
  // One kind of trouble, two, or all of them.
  const chosen: readonly Family[] =
    mood < 0.4 ? [draws.pick(families)] : mood < 0.7 ? [draws.pick(families), draws.pick(families)] : families;
  const count = draws.whole(1, 8);
  return Array.from({ length: count }, () => faultOf(draws.pick(chosen), draws, replicas, calls));
}

function faultOf(family: Family, draws: Draws, replicas: number, calls: number): Fault {
  const atMs = draws.between(0, draws.chance(0.5) ? 5_000 : faultSpanMs);
  const forMs = draws.between(500, 15_000);
  const replica = draws.whole(0, replicas - 1);
  const downMs = draws.between(0, 10_000);
  switch (family) {
    case 'processes': {
      const kind = draws.pick(['crash', 'crash-at', 'crash-at', 'stop', 'freeze', 'freeze'] as const);
      if (kind === 'freeze') return { kind, replica, atMs, forMs: draws.between(1_000, 40_000) };
      if (kind !== 'crash-at') return { kind, replica, atMs, downMs };
      const nth = draws.whole(1, Math.max(3, Math.ceil(calls / replicas)));
      return { kind, replica, op: draws.pick(ops), nth, when: draws.pick(['before', 'after'] as const), downMs };
    }
    case 'group':
      return { kind: 'rebalance', atMs, noticeMs: draws.between(0, draws.chance(0.3) ? 20_000 : 500) };
    case 'claims':
      switch (draws.whole(0, 5)) {
        case 0:
          return { kind: 'claims-lose-second', atMs };
        case 1:
          return { kind: 'claims-empty', atMs };
        case 2:
        case 3:
          return { kind: 'claims-lossy', atMs, forMs, share: draws.between(0.1, 0.6) };
        default:
          return { kind: 'claims-away', atMs, forMs };
      }
    case 'topics':
      return draws.chance(0.6)
        ? { kind: 'produce', atMs, forMs, how: draws.pick(['held', 'ack-lost']) }
        : { kind: 'commits', atMs, forMs, how: draws.pick(['refused', 'reply-lost']) };
    case 'upstreams':
      if (draws.chance(0.15)) return { kind: 'token', atMs };
      return {
        kind: 'upstream',
        upstream: draws.pick(['feishu', 'news']),
        atMs,
        forMs: draws.between(500, draws.chance(0.2) ? 60_000 : 8_000),
        how: draws.pick(trouble.filter((answer) => answer !== 'wrong')),
      };
    case 'clocks':
      return draws.chance(0.5)
        ? { kind: 'claims-clock', atMs, byMs: draws.between(-5_000, 20_000) }
        : { kind: 'wall-clock', replica, atMs, byMs: draws.between(-3_600_000, 3_600_000) };
  }
}
