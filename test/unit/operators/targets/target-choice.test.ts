import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TargetedUpstream } from '../../../../src/adapters/http/targets.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import { type Chosen, TargetChoice } from '../../../../src/operators/targets/target-choice.ts';
import { ScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const request = { method: 'GET', path: '/', headers: {}, body: undefined } as const;

/** So many calls a second, for so long, to targets as told. */
function run(
  scripts: readonly ConstructorParameters<typeof ScriptedUpstream>[1][],
  perSecond: number,
  seconds: number,
) {
  const time = new VirtualTime();
  const targets = scripts.map((script) => new ScriptedUpstream(time, script));
  const choice = new TargetChoice(targets.length, seededRandom(3));
  const upstream = new TargetedUpstream(targets, choice, time);
  const ended: Exchange[] = [];
  const call = () =>
    upstream.send(request, 3_000).subscribe({
      next: (exchange) => ended.push(exchange),
      error: (error: unknown) => expect.fail(String(error)),
    });
  for (let i = 0; i < perSecond * seconds; i++) {
    call();
    time.advance(1_000 / perSecond);
  }
  const counts = () => targets.map(({ attempts }) => attempts.length);
  return { time, targets, choice, call, ended, counts };
}

describe('several targets of an upstream', () => {
  it('S004-03: of three nodes, one slow and one down, the good one gets at least 95 % of the calls in 10 s', () => {
    const { counts } = run(
      [() => ({ afterMs: 20 }), () => ({ afterMs: 2_000 }), () => ({ fail: { how: 'refused', sent: false } })],
      100,
      10,
    );
    const [good = 0] = counts();

    expect(counts().reduce((sum, one) => sum + one, 0)).toBe(1_000);
    expect(good).toBeGreaterThanOrEqual(950);
  });

  it('S004-03: one that hangs is avoided before its first timeout', () => {
    const { counts } = run([() => ({ afterMs: 20 }), () => ({ hang: true })], 100, 2);

    expect(counts()[1]).toBeLessThanOrEqual(10);
  });

  it('gives equal ones equal shares, and one that has recovered its share back', () => {
    let down = true;
    const { counts, time, call } = run(
      [() => ({ afterMs: 20 }), () => (down ? { status: 503, afterMs: 5 } : { afterMs: 20 }), () => ({ afterMs: 20 })],
      100,
      20,
    );
    expect(counts()[1]).toBeLessThan(60);
    down = false;
    // Its breaker comes back by itself within ten seconds and a ramp.
    for (let i = 0; i < 2_000; i++) {
      call();
      time.advance(10);
    }
    const before = counts();
    for (let i = 0; i < 3_000; i++) {
      call();
      time.advance(10);
    }
    const shares = counts().map((count, index) => (count - (before[index] ?? 0)) / 3_000);
    for (const share of shares) expect(share).toBeCloseTo(1 / 3, 1);
  });

  it('takes a call that nobody waits for any more for no news about its target', () => {
    const { choice, time } = run([() => ({ hang: true })], 1, 0);
    for (let i = 0; i < 100; i++) choice.choose(time.now()).dropped();

    expect(choice.views(time.now())).toEqual([{ state: 'closed', inFlight: 0, usualMs: 0 }]);
  });

  it('goes on with all of them where none is well: the breaker of the whole upstream is to notice', () => {
    const { ended, counts } = run([() => ({ status: 503 }), () => ({ status: 503 })], 100, 2);

    expect(ended).toHaveLength(200);
    expect(Math.min(...counts())).toBeGreaterThan(40);
  });

  it('refuses to choose among none', () => {
    expect(() => new TargetChoice(0, seededRandom(1))).toThrow(
      new RangeError('targets must be an integer >= 1, got 0'),
    );
  });
});

type Choice = Pick<TargetChoice, 'choose' | 'views'>;
const runs = { numRuns: 300, seed: 4 };
const anyStep = fc.record({
  afterMs: fc.nat({ max: 300 }),
  what: fc.constantFrom('begin', 'begin', 'good', 'good', 'bad', 'drop'),
  at: fc.nat(),
});

/** No open breaker is called while another target is well; what is in flight is what was begun and has not ended. */
function keepsItsWord(make: (count: number) => Choice) {
  return fc.property(
    fc.integer({ min: 1, max: 4 }),
    fc.array(anyStep, { minLength: 50, maxLength: 400, size: 'max' }),
    (count, steps) => {
      const choice = make(count);
      const open: Chosen[] = [];
      let nowMs = 0;
      return steps.every(({ afterMs, what, at }) => {
        nowMs += afterMs;
        if (what === 'begin') {
          const before = choice.views(nowMs);
          const chosen = choice.choose(nowMs);
          open.push(chosen);
          const closed = before.filter(({ state }) => state === 'closed').length;
          if (
            closed > 0 &&
            before[chosen.index]?.state === 'open' &&
            choice.views(nowMs)[chosen.index]?.state === 'open'
          )
            return false;
        } else {
          const [one] = open.length === 0 ? [] : open.splice(at % open.length, 1);
          if (what === 'drop') one?.dropped();
          else one?.ended(nowMs, what === 'bad');
        }
        return choice
          .views(nowMs)
          .every(({ inFlight }, index) => inFlight === open.filter((chosen) => chosen.index === index).length);
      });
    },
  );
}

describe('TargetChoice, over any history', () => {
  it('counts what is in flight, and leaves open ones out while there is another', () => {
    fc.assert(
      keepsItsWord((count) => new TargetChoice(count, seededRandom(9))),
      runs,
    );
  });

  it.each<[string, (inner: TargetChoice, count: number) => Choice]>([
    [
      'forgets to give back what was dropped',
      (inner) => ({
        views: (nowMs) => inner.views(nowMs),
        choose: (nowMs) => ({ ...inner.choose(nowMs), dropped: () => undefined }),
      }),
    ],
    [
      'calls a target in turn, well or not',
      (inner, count) => {
        const all = Array.from({ length: count }, (_, i) => new TargetChoice(1, seededRandom(i)));
        let n = 0;
        return {
          views: (nowMs) => all.flatMap((one) => one.views(nowMs)),
          choose: (nowMs) => {
            const index = n++ % count;
            return { ...(all[index] ?? inner).choose(nowMs), index };
          },
        };
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(
      fc.check(
        keepsItsWord((count) => mutant(new TargetChoice(count, seededRandom(9)), count)),
        runs,
      ).failed,
    ).toBe(true);
  });
});
