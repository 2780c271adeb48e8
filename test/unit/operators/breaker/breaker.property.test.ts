import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Breaker, type BreakerOptions, breakerDefaults, type Permit } from '../../../../src/operators/index.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

type Guard = Pick<Breaker, 'acquire' | 'record' | 'release' | 'peek' | 'snapshot'>;
type Make = (seed: number) => Guard;

const options: BreakerOptions = { ...breakerDefaults, minCalls: 8, consecutiveFailures: 6, slowRatio: Infinity };
const allowed = new Set(['closed>open', 'open>half-open', 'half-open>ramp', 'half-open>open', 'half-open>half-open']);
for (const step of ['ramp>closed', 'ramp>open']) allowed.add(step);

type Command =
  readonly ['pass', number] | readonly ['ask', number] | readonly ['end', number, 'ok' | 'bad' | 'neutral'];

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(fc.constant('pass' as const), fc.integer({ min: 0, max: 1_200 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('pass' as const), fc.integer({ min: 1_000, max: 16_000 })) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('ask' as const), fc.integer({ min: 1, max: 8 })) },
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constant('end' as const),
      fc.nat({ max: 1_000 }),
      fc.constantFrom<'ok' | 'bad' | 'neutral'>('ok', 'bad', 'bad', 'bad', 'neutral'),
    ),
  },
);
const life = fc.tuple(fc.nat(), fc.array(command, { minLength: 60, maxLength: 300, size: 'max' }));

/** Drives a guard and checks invariants 4 to 6, 9 and 10 at every step; throws `invariant N` where one breaks. */
class Life {
  readonly guard: Guard;
  nowMs = 0;
  readonly #out: Permit[] = [];
  readonly #probes = new Map<number, number>();

  constructor(guard: Guard) {
    this.guard = guard;
  }

  run(commands: readonly Command[]): this {
    for (const step of commands) {
      const before = this.guard.snapshot(this.nowMs);
      if (step[0] === 'pass') this.nowMs += step[1];
      if (step[0] === 'ask') for (let i = 0; i < step[1]; i++) this.ask();
      if (step[0] === 'end') this.#end(step[1], step[2]);
      const after = this.guard.snapshot(this.nowMs);
      if (after.generation < before.generation) throw new Error('invariant 5');
    }
    return this;
  }

  /** One call asks. */
  ask(): Permit | undefined {
    const before = this.guard.snapshot(this.nowMs);
    const refusedUntilMs = this.guard.peek(this.nowMs);
    const answer = this.guard.acquire(this.nowMs);
    const after = this.guard.snapshot(this.nowMs);
    this.#checkStep(before, after);
    if (answer.kind === 'refused') {
      if (before.state === 'closed') throw new Error('invariant 9: closed refuses');
      return undefined;
    }
    if (refusedUntilMs !== undefined) throw new Error('invariant 9: granted before its time');
    if (answer.generation !== after.generation) throw new Error('invariant 5');
    if (after.state === 'half-open') {
      const granted = (this.#probes.get(after.generation) ?? 0) + 1;
      if (granted > options.probes) throw new Error('invariant 6');
      this.#probes.set(after.generation, granted);
    }
    this.#out.push(answer);
    return answer;
  }

  #end(pick: number, how: 'ok' | 'bad' | 'neutral'): void {
    const [permit] = this.#out.splice(pick % Math.max(1, this.#out.length), 1);
    if (permit === undefined) return;
    // What was granted in another generation must not count; kept here, because a guard may write into its permits.
    const { generation } = permit;
    const before = this.guard.snapshot(this.nowMs);
    let counted = false;
    if (how === 'neutral') this.guard.release(permit);
    else counted = this.guard.record(permit, this.nowMs, how === 'bad', 50);
    const after = this.guard.snapshot(this.nowMs);
    this.#checkStep(before, after);
    const sameCounts = (['state', 'generation', 'theta', 'calls', 'failures', 'slow'] as const).every(
      (name) => before[name] === after[name],
    );
    if (generation !== before.generation && (counted || !sameCounts)) throw new Error('invariant 5');
    if (how !== 'neutral') return;
    if (!sameCounts) throw new Error('invariant 10');
    if (before.state === 'half-open' && generation === before.generation) {
      this.#probes.set(generation, (this.#probes.get(generation) ?? 1) - 1);
    }
  }

  #checkStep(before: ReturnType<Guard['snapshot']>, after: ReturnType<Guard['snapshot']>): void {
    const moved = before.state !== after.state || before.generation !== after.generation;
    if (moved && !allowed.has(`${before.state}>${after.state}`)) throw new Error('invariant 4');
    const step = moved && `${before.state}>${after.state}` !== 'ramp>closed' ? 1 : 0;
    if (after.generation - before.generation !== step) throw new Error('invariant 5');
  }
}

const longestMs = options.maxOpenMs * (1 + options.openJitter) + options.probeLeaseMs;

const keepsItsRules = (make: Make) =>
  fc.property(life, ([seed, commands]) => {
    new Life(make(seed)).run(commands);
  });

const neverSticks = (make: Make) =>
  fc.property(life, ([seed, commands]) => {
    const reached = new Life(make(seed)).run(commands);
    reached.nowMs += longestMs;
    if (reached.ask() === undefined) throw new Error('invariant 7');
  });

const recovers = (make: Make) =>
  fc.property(life, ([seed, commands]) => {
    const reached = new Life(make(seed)).run(commands);
    const { guard } = reached;
    const endMs = reached.nowMs + longestMs + options.rampMs + 2_000;
    for (; reached.nowMs < endMs; reached.nowMs += 100) {
      const permit = reached.ask();
      if (permit !== undefined) guard.record(permit, reached.nowMs, false, 50);
    }
    if (guard.snapshot(reached.nowMs).state !== 'closed') throw new Error('invariant 8');
  });

const runs = { numRuns: 400, seed: 3 };
const withOptions =
  (changed: Partial<BreakerOptions>): Make =>
  (seed) =>
    new Breaker({ ...options, ...changed }, seededRandom(seed));
const real = withOptions({});

/** The real one with some of its answers replaced. */
const altered =
  (change: (guard: Breaker) => Partial<Guard>): Make =>
  (seed) => {
    const guard = new Breaker(options, seededRandom(seed));
    return {
      acquire: (nowMs) => guard.acquire(nowMs),
      record: (permit, nowMs, failed, ms) => guard.record(permit, nowMs, failed, ms),
      release: (permit) => guard.release(permit),
      peek: (nowMs) => guard.peek(nowMs),
      snapshot: (nowMs) => guard.snapshot(nowMs),
      ...change(guard),
    };
  };

describe('Breaker, invariants 4 to 10', () => {
  it('keeps to its transitions, generations and probe places; closed never refuses, open never grants early', () => {
    fc.assert(keepsItsRules(real), runs);
  });

  it('grants a permit from every reachable state within the longest opening and a lease', () => {
    fc.assert(neverSticks(real), runs);
  });

  it('is closed after an opening and a ramp of successes alone', () => {
    fc.assert(recovers(real), runs);
  });

  it.each<[string, string, (make: Make) => fc.IProperty<[[number, Command[]]]>, Make]>([
    [
      'goes from half-open straight to closed',
      'invariant 4',
      keepsItsRules,
      altered((guard) => ({
        snapshot: (nowMs) => {
          const seen = guard.snapshot(nowMs);
          return seen.state === 'ramp' ? { ...seen, state: 'closed' as const } : seen;
        },
      })),
    ],
    [
      'does not look at the generation',
      'invariant 5',
      keepsItsRules,
      altered((guard) => ({
        record: (permit, nowMs, failed, ms) =>
          guard.record({ ...permit, generation: guard.snapshot(nowMs).generation }, nowMs, failed, ms),
      })),
    ],
    ['lets more probes through than it has places for', 'invariant 6', keepsItsRules, withOptions({ probes: 6 })],
    ['waits for lost probes for ever', 'invariant 7', neverSticks, withOptions({ probeLeaseMs: 1e9 })],
    ['never ends its ramp', 'invariant 8', recovers, withOptions({ rampMs: 1e9 })],
    [
      'refuses although it is closed',
      'invariant 9',
      keepsItsRules,
      altered((guard) => ({
        acquire: (nowMs) =>
          guard.snapshot(nowMs).failures > 4 ? { kind: 'refused', untilMs: nowMs } : guard.acquire(nowMs),
      })),
    ],
    [
      'grants before the end of its time in open',
      'invariant 9',
      keepsItsRules,
      altered((guard) => ({ acquire: (nowMs) => guard.acquire(nowMs + 100) })),
    ],
    [
      'takes a neutral ending for a failure',
      'invariant 10',
      keepsItsRules,
      altered((guard) => ({ release: (permit) => void guard.record(permit, 0, true, 50) })),
    ],
  ])('is caught when it %s (%s)', (_, invariant, property, mutant) => {
    const found = fc.check(property(mutant), { ...runs, endOnFailure: true });

    expect(found.failed).toBe(true);
    expect(String(found.errorInstance)).toContain(invariant);
  });
});
