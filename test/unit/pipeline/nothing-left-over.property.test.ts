import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { House } from '../../../src/pipeline/house.ts';
import type { RecordSource } from '../../../src/ports/record-source.ts';
import { chance } from '../../simulation/chance.ts';
import { countsWhatIsOver, keepsClaims, sleepsOn, staysNoted } from '../../support/cancel-mutants.ts';
import { answerLate } from '../../support/late-store.ts';
import { leftOver } from '../../support/left-over.ts';
import { type BenchOptions, PipelineBench } from '../../support/pipeline-bench.ts';
import type { Reply, SeenAttempt } from '../../support/scripted-upstream.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const partition = fc.nat({ max: 1 });
const worker = fc.nat({ max: 1 });
const upstream = fc.constantFrom('feishu', 'news');
const often = <T>(usual: T, seldom: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: seldom });

const call = fc.record({
  what: fc.constantFrom('article', 'article', 'order', 'junk', 'user', 'user', 'message', 'message'),
  target: fc.nat({ max: 5 }),
  key: fc.option(
    fc.nat({ max: 4 }).map((key) => `k-${key}`),
    { freq: 3 },
  ),
  /** Written before, so many calls ago. */
  again: often<number | undefined>(undefined, fc.nat({ max: 20 })),
  ttlMs: often<number | undefined>(undefined, fc.integer({ min: 500, max: 20_000 })),
  fallback: often<object | undefined>(undefined, fc.constant({ x: 1 })),
  priority: fc.constantFrom('interactive', 'normal', 'bulk'),
});
type Written = typeof call extends fc.Arbitrary<infer C> ? C : never;

const act = fc.oneof(
  {
    weight: 11,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      calls: fc.array(call, { minLength: 1, maxLength: 8, size: 'max' }),
    }),
  },
  // More of a kind than a lane takes.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('flood' as const), like: call, count: fc.integer({ min: 20, max: 50 }) }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('cancel' as const),
      ago: fc.nat({ max: 40 }),
      count: fc.integer({ min: 1, max: 20 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), partition, worker }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), upstream, worker, on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold' as const), on: fc.boolean() }) },
);
const step = fc.record({
  act,
  thenMs: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.nat({ max: 700 }) },
    { weight: 1, arbitrary: fc.nat({ max: 15_000 }) },
  ),
});

const life = fc.record({
  seed: fc.nat(),
  laneItems: fc.integer({ min: 8, max: 24 }),
  maxInTurn: fc.integer({ min: 6, max: 24 }),
  parkFullLanes: fc.constantFrom(true, true, false),
  concurrency: fc.integer({ min: 1, max: 4 }),
  cacheMs: fc.constantFrom(0, 20_000),
  limit: fc.constantFrom(undefined, 3),
  steps: fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }),
});
type Life = typeof life extends fc.Arbitrary<infer L> ? L : never;

/** Long enough for the longest delay topic, and for what waits behind one that was there. */
const restMs = 3 * 3_600_000;

type Make = (options: BenchOptions) => PipelineBench;

/** Two workers live through it; then all is well for hours. Returns what is left over. */
function live(make: Make, { seed, concurrency, cacheMs, limit, steps, ...sizes }: Life): string[] {
  const limits = limit === undefined ? [] : [{ limit, windowMs: 1_000 }];
  const news = { concurrency, cacheMs, limits: [{ limit: 5, windowMs: 1_000 }], attemptMs: 3_000 };
  const bench = make({
    partitions: 2,
    random: seededRandom(seed),
    house: sizes,
    upstreams: {
      feishu: { batching: true, limits },
      news: { ...news, breaker: { consecutiveFailures: 3 }, fallback: { cacheTtlMs: 30_000 } },
    },
  });
  answerLate(bench.store, bench.time, seed);
  for (const one of bench.upstreams.values()) one.script = (attempt) => replyTo(attempt, seed);
  const members = [bench.group.member(), bench.group.member()];
  const workers = members.map((member) => bench.start(member));
  for (const number of [0, 1]) bench.group.give(number, members[number]);
  const ids: string[] = [];
  const hand = (one: Written): void => {
    const id = (one.again === undefined ? undefined : ids.at(-1 - one.again)) ?? `c-${ids.length}`;
    ids.push(id);
    write(bench, one, id);
  };

  for (const { act, thenMs } of steps) {
    switch (act.do) {
      case 'write':
        act.calls.forEach(hand);
        break;
      case 'flood':
        for (let nth = 0; nth < act.count; nth++) hand({ ...act.like, key: `k-${nth % 5}`, again: undefined });
        break;
      case 'cancel':
        // As the door does it: the store is told, then every worker.
        for (const id of ids.slice(-act.count - act.ago).slice(0, act.count)) {
          bench.store.claims.cancel(id, 86_400_000).subscribe({ error: fail });
          for (const { house } of workers) house.cancellations.cancel(id);
        }
        break;
      case 'move':
        bench.group.give(act.partition, members[act.worker]);
        break;
      case 'pause': {
        const pauses = workers[act.worker]?.house.pauses;
        if (act.on) pauses?.pause(act.upstream, 'somebody');
        else pauses?.resume(act.upstream, 'somebody');
        break;
      }
      case 'hold':
        if (act.on) bench.sink.hold();
        else bench.sink.release();
    }
    bench.run(thenMs);
  }

  for (const one of bench.upstreams.values()) one.script = () => ({ afterMs: 20 });
  bench.sink.release();
  for (const { house } of workers) for (const name of bench.upstreams.keys()) house.pauses.resume(name);
  bench.run(restMs);
  return leftOver(bench, workers);
}

const fail = (error: unknown): void => expect.fail(String(error));

function write(bench: PipelineBench, { what, target, key, ttlMs, fallback, priority }: Written, id: string): void {
  if (what === 'junk') {
    bench.raw(Buffer.from('x'), key);
    return;
  }
  const request = {
    article: { upstream: 'news', path: `/articles/${target}` },
    order: { upstream: 'news', path: `/orders/${id}`, body: { target } },
    user: { method: 'GET', path: `/open-apis/contact/v3/users/ou_${target}` },
    message: {
      path: '/open-apis/im/v1/messages',
      query: { receive_id_type: 'chat_id' },
      body: { receive_id: `oc_${target}`, msg_type: 'text', content: '{"text":"hi"}' },
    },
  }[what];
  bench.call({ id, ...request, priority, ttlMs, fallback }, key);
}

function replyTo({ id, nth }: SeenAttempt, seed: number): Reply {
  const draw = (most: number, what: string): number => Math.floor(chance(seed, what, id, nth) * most);
  const afterMs = draw(600, 'after');
  const kind = draw(100, 'kind');
  if (kind < 60) return { afterMs };
  if (kind < 70) return { status: 503, afterMs };
  if (kind < 80) return { status: 429, headers: { 'retry-after': String(1 + draw(20, 'limited')) }, afterMs };
  if (kind < 86) return { hang: true };
  if (kind < 92) return { status: 503, headers: { 'retry-after': String(5 + draw(60, 'away')) }, afterMs };
  return { fail: { how: 'reset', sent: draw(2, 'sent') === 0 } };
}

const leavesNothing = (make: Make) =>
  fc.property(life, (one) => {
    expect(live(make, one)).toEqual([]);
  });

/** A bench whose houses have a bug. */
class MutatedBench extends PipelineBench {
  readonly #mutate: (house: House) => void;

  constructor(options: BenchOptions, mutate: (house: House) => void) {
    super(options);
    this.#mutate = mutate;
  }

  override createHouse(source?: RecordSource): House {
    const house = super.createHouse(source);
    this.#mutate(house);
    return house;
  }
}

// The seed is one that finds all of the mutants early. Lives are long: what fails is made smaller for so long and no longer.
const runs = { numRuns: 15, seed: 7, interruptAfterTimeLimit: 20_000 };

describe('two workers whose calls are cancelled, whose upstreams pause and whose partitions move', () => {
  it('end every call once, commit every record and keep nothing of any of them', () => {
    fc.assert(
      leavesNothing((options) => new PipelineBench(options)),
      runs,
    );
  });

  it.each<[string, (house: House) => void]>([
    ['takes a call that ended on its way out for one that is outside', staysNoted],
    ['counts what is left of a call that was cancelled in its ring', countsWhatIsOver],
    ['wakes nobody when an upstream goes on', sleepsOn],
    ['keeps the claims of calls that have ended', keepsClaims],
  ])('are caught when one %s', (_, mutate) => {
    const mutant = leavesNothing((options) => new MutatedBench(options, mutate));
    expect(fc.check(mutant, { ...runs, endOnFailure: true }).failed).toBe(true);
  });
});
