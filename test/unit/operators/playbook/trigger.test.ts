import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Trigger, type TriggerOptions, type TriggerStep } from '../../../../src/operators/playbook/trigger.ts';

const above15: TriggerOptions = {
  ...{ above: 0.15, forMs: 120_000, clear: 0.12, clearForMs: 60_000, coolDownMs: 600_000, mostMs: Infinity },
};

/** What comes of one look a second. */
function steps(
  trigger: Pick<Trigger, 'look'>,
  values: readonly (number | undefined)[],
  fromMs = 0,
): [number, TriggerStep][] {
  return values
    .map((value, second) => [second, trigger.look(value, fromMs + second * 1_000)] as [number, TriggerStep])
    .filter(([, step]) => step !== undefined);
}
const seconds = (count: number, value: number | undefined) => Array.from({ length: count }, () => value);

describe('a trigger', () => {
  it('S000-89: 16 % for 119 s is nothing, for 120 s it begins, once', () => {
    const short = [...seconds(120, 0.16), ...seconds(60, 0.1), ...seconds(120, 0.16), ...seconds(60, 0.1)];
    expect(steps(new Trigger(above15), short)).toEqual([]);
    expect(steps(new Trigger(above15), seconds(121, 0.16))).toEqual([[120, 'begin']]);
    expect(steps(new Trigger(above15), seconds(3_600, 0.16))).toEqual([[120, 'begin']]);
    expect(steps(new Trigger(above15), seconds(3_600, 0.15))).toEqual([]);
  });

  it('is over when the value was back for its time, and begins again only after the rest', () => {
    const trigger = new Trigger(above15);
    const day = [...seconds(121, 0.2), ...seconds(100, 0.05), ...seconds(2_000, 0.2)];
    expect(steps(trigger, day)).toEqual([
      [120, 'begin'],
      [181, 'end'],
      [781, 'begin'],
    ]);
  });

  it('is not over between the two bounds', () => {
    const trigger = new Trigger(above15);
    expect(steps(trigger, [...seconds(121, 0.2), ...seconds(600, 0.13)])).toEqual([[120, 'begin']]);
    expect(trigger.state(721_000)).toBe('active');
  });

  it('looks below a bound, too', () => {
    const trigger = new Trigger({ below: 75, forMs: 0, clear: 80, clearForMs: 2_000, coolDownMs: 0, mostMs: Infinity });
    expect(steps(trigger, [75, 74, 74, 79, 80, 80, 80])).toEqual([
      [1, 'begin'],
      [6, 'end'],
    ]);
  });

  it('takes a missing value for neither', () => {
    expect(steps(new Trigger(above15), [...seconds(100, 0.2), undefined, ...seconds(100, 0.2)])).toEqual([]);
    const active = new Trigger({ ...above15, forMs: 0 });
    expect(steps(active, [0.2, ...seconds(50, 0), undefined, ...seconds(50, 0)])).toEqual([[0, 'begin']]);
  });

  it('is over after its longest time, whatever the value says, and begins again after the rest', () => {
    const trigger = new Trigger({ ...above15, forMs: 0, mostMs: 300_000 });
    expect(steps(trigger, seconds(1_300, 0.2))).toEqual([
      [0, 'begin'],
      [300, 'end'],
      [900, 'begin'],
      [1_200, 'end'],
    ]);
  });

  it('is ended by a person, and rests then', () => {
    const trigger = new Trigger({ ...above15, forMs: 0 });
    expect(trigger.look(0.2, 0)).toBe('begin');
    trigger.end(1_000);
    expect(trigger.state(1_000)).toBe('cooling');
    expect(trigger.look(0.2, 600_999)).toBeUndefined();
    expect(trigger.look(0.2, 601_000)).toBe('begin');
  });
});

/** As a careless one would be: one bound, no times. */
class Careless implements Pick<Trigger, 'look'> {
  #active = false;
  look(value: number | undefined): TriggerStep {
    const beyond = (value ?? 0) > 0.15;
    if (beyond === this.#active) return undefined;
    this.#active = beyond;
    return beyond ? 'begin' : 'end';
  }
}

/** Ten minutes of noise around a bound: a random walk with outliers, one value a second. */
const noise = fc
  .array(fc.tuple(fc.integer({ min: -30, max: 30 }), fc.integer({ min: 0, max: 40 })), {
    ...{ minLength: 600, maxLength: 600, size: 'max' },
  })
  .map((moves) => {
    let level = 0.15;
    return moves.map(([move, outlier]) => {
      level = Math.min(0.3, Math.max(0, level + move / 1_000));
      return outlier === 0 ? undefined : outlier === 1 ? 1 : level;
    });
  });

describe('in ten minutes with noise', () => {
  const options: TriggerOptions = {
    above: 0.15,
    forMs: 10_000,
    clear: 0.12,
    clearForMs: 30_000,
    coolDownMs: 120_000,
    mostMs: Infinity,
  };
  /** What a run of looks has wrong with it. */
  const wrongIn = (values: readonly (number | undefined)[], all: readonly [number, TriggerStep][]): string[] => {
    const begins = all.filter(([, step]) => step === 'begin').map(([second]) => second);
    const ends = all.filter(([, step]) => step === 'end').map(([second]) => second);
    const early = begins.filter(
      (begin) =>
        !values.slice(Math.max(0, begin - 10), begin + 1).every((value) => value !== undefined && value > 0.15),
    );
    return [
      ...(all.every(([, step], index) => step === (index % 2 === 0 ? 'begin' : 'end')) ? [] : ['no turns']),
      ...early.map((begin) => `begins at ${begin} too early`),
      ...ends.filter((end, index) => end - (begins[index] ?? 0) < 30).map((end) => `is over at ${end} too early`),
      ...ends
        .filter((end, index) => (begins[index + 1] ?? Infinity) - end < 120)
        .map((end) => `begins again too early after ${end}`),
      ...(begins.length > 5 ? ['flaps'] : []),
    ];
  };
  const holds = (made: () => Pick<Trigger, 'look'>) =>
    fc.property(noise, (values) => wrongIn(values, steps(made(), values)).length === 0);

  it('nothing flaps', () => {
    fc.assert(holds(() => new Trigger(options)));
  });

  it('and one without times and a second bound would', () => {
    expect(fc.check(holds(() => new Careless())).failed).toBe(true);
  });

  it.each<readonly [string, Partial<TriggerOptions>]>([
    ['that begins at once', { forMs: 0 }],
    ['that is over at once', { clear: 0.15, clearForMs: 0 }],
    ['without rest', { coolDownMs: 0 }],
  ])('and one %s would', (_name, wrong) => {
    expect(fc.check(holds(() => new Trigger({ ...options, ...wrong }))).failed).toBe(true);
  });
});
