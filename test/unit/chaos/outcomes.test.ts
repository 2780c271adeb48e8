import { describe, expect, it } from 'vitest';

import { Calls } from '../../chaos/world/calls.ts';
import { Outcomes } from '../../chaos/world/outcomes.ts';

const bytes = (text: string) => Buffer.from(text);

describe('outcomes of a chaos run', () => {
  it('counts a call without a terminal record as lost, and names it', () => {
    const outcomes = new Outcomes(new Calls(3, 2));
    outcomes.add('c0', 'ok', bytes('a'));
    outcomes.add('c2', 'ok', bytes('b'));

    expect([outcomes.lost, outcomes.missing(5)]).toEqual([1, ['c1']]);
  });

  it('takes identical copies for one record that was repeated', () => {
    const outcomes = new Outcomes(new Calls(1, 1));
    for (let i = 0; i < 3; i++) outcomes.add('c0', 'ok', bytes('a'));

    expect([outcomes.repeatedRecords, outcomes.differing, outcomes.contradicted]).toEqual([2, 0, 0]);
  });

  it('tells records that differ, and those that contradict each other', () => {
    const outcomes = new Outcomes(new Calls(2, 1));
    outcomes.add('c0', 'ok', bytes('a'));
    outcomes.add('c0', 'ok', bytes('b'));
    outcomes.add('c1', 'ok', bytes('c'));
    outcomes.add('c1', 'dead letter: permanent', bytes('d'));

    expect([outcomes.differing, outcomes.contradicted]).toEqual([2, 1]);
  });

  it('does not count what belongs to no call of the run', () => {
    const outcomes = new Outcomes(new Calls(1, 1));
    outcomes.add('c1', 'ok', bytes('a'));
    outcomes.add(undefined, 'ok', bytes('a'));

    expect([outcomes.lost, outcomes.foreign]).toEqual([1, 2]);
  });
});
