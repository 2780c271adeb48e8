import { NEVER, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { EventIntake, type EventIntakeOptions } from '../../../../src/ingress/feishu/event-intake.ts';
import type { OutRecord } from '../../../../src/model/record.ts';
import { topicDeclarations } from '../../../../src/model/topics.ts';
import type { ClaimStore } from '../../../../src/ports/claim-store.ts';
import { collect } from '../../../support/collect.ts';
import { HeldSink } from '../../../support/held-sink.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const settings: EventIntakeOptions = { dedupeMs: 86_400_000, patienceMs: 2_000, maxHeld: 3, maxHeldBytes: 1_000 };
const recordOf = (text: string): OutRecord => ({
  topic: 'events',
  key: Buffer.from('oc_1'),
  value: Buffer.from(text),
  headers: Object.entries({ ce_source: '/feishu/a', ce_type: 't', ce_id: text.slice(0, 8) }).map(([name, value]) => [
    name,
    Buffer.from(value),
  ]),
});

/** A store in which nothing comes to an end any more: its process is dead. */
function silenced(claims: ClaimStore): ClaimStore {
  return Object.assign(Object.create(claims) as ClaimStore, {
    claim: claims.claim.bind(claims),
    finish: () => NEVER,
    extend: () => NEVER,
  });
}

/** Intakes of several processes over one store, whose sink can be held. */
function world(options: Partial<EventIntakeOptions> = {}) {
  const time = new VirtualTime();
  const store = openEmbedded({
    ...{ data: 'memory', clock: time, timers: time, logger: noLogger, topics: topicDeclarations },
    nextTurn: (task) => void time.after(0, task),
  });
  const process = (name: string, dies = false) => {
    const sink = new HeldSink(store.sink);
    const { eventClaims, finder } = store;
    let asked = 0;
    const counted = Object.assign(Object.create(eventClaims) as ClaimStore, {
      claim: (ask: Parameters<ClaimStore['claim']>[0]) => {
        asked++;
        return eventClaims.claim(ask);
      },
      finish: eventClaims.finish.bind(eventClaims),
      extend: eventClaims.extend.bind(eventClaims),
    });
    const claims = dies ? silenced(eventClaims) : counted;
    const parts = { sink, claims, finder, clock: time, timers: time, process: name };
    const intake = new EventIntake(parts, { ...settings, ...options });
    const take = (key: string, text = key) => collect(intake.take(key, recordOf(text)));
    return { sink, intake, take, asked: () => asked };
  };
  const stored = () => {
    const seen = collect(store.tail('events', { last: 1_000, follow: false }).pipe(toArray()));
    time.advance(0);
    return seen.values[0]?.map(({ value }) => String(value)).sort();
  };
  return { time, process, stored };
}

describe('EventIntake', () => {
  it('stores an event once; a repeat is a duplicate for as long as it is known', () => {
    const { time, process, stored } = world();
    const { take, intake } = process('a');

    expect(take('e').values).toEqual(['stored']);
    expect(take('e').values).toEqual(['duplicate']);
    time.advance(settings.dedupeMs - 1);
    expect(take('e').values).toEqual(['duplicate']);
    time.advance(1);
    expect(take('e').values).toEqual(['stored']);
    expect(stored()).toEqual(['e', 'e']);
    expect([intake.held, intake.heldBytes]).toEqual([0, 0]);
  });

  it('a delivery of an event that is still being written joins it instead of beginning again', () => {
    const { process, stored } = world();
    const { take, sink } = process('a');
    sink.hold();
    const first = take('e');
    const second = take('e');

    expect([sink.waiting, first.values, second.values]).toEqual([1, [], []]);
    sink.release();
    expect([first.values, second.values]).toEqual([['stored'], ['duplicate']]);
    expect(stored()).toEqual(['e']);
  });

  it('a delivery at another process waits until the first process has stored it', () => {
    const { time, process, stored } = world();
    const [a, b] = [process('a'), process('b')];
    a.sink.hold();
    a.take('e');
    const second = b.take('e');
    time.advance(1_000);
    expect(second.values).toEqual([]);

    a.sink.release();
    time.advance(200);
    expect(second.values).toEqual(['duplicate']);
    expect(stored()).toEqual(['e']);
  });

  it('a delivery at another process asks soon at first, then ever less often: no store is asked eighty times for one', () => {
    const { time, process } = world();
    const [a, b] = [process('a'), process('b')];
    a.sink.hold();
    a.take('e');
    const soon = b.take('e');
    a.sink.release();
    time.advance(25);
    expect(soon.values).toEqual(['duplicate']);

    a.sink.hold();
    a.take('f');
    const asked = b.asked();
    const late = b.take('f');
    time.advance(settings.patienceMs);
    expect(late.values).toEqual(['late']);
    expect(b.asked() - asked).toBe(14);
  });

  it('an event whose process died after it was written, and before that was known, is not written again', () => {
    const { time, process, stored } = world();
    process('a', true).take('e');
    const b = process('b');
    expect(b.take('e').values).toEqual([]);
    time.advance(15_000);
    expect([b.take('e').values, b.take('f').values]).toEqual([['duplicate'], ['stored']]);
    expect(stored()).toEqual(['e', 'f']);
  });

  it('an event whose process died before it was written is written by the next delivery', () => {
    const { time, process, stored } = world();
    const a = process('a', true);
    a.sink.hold();
    a.take('e');
    time.advance(15_000);
    expect(process('b').take('e').values).toEqual(['stored']);
    expect(stored()).toEqual(['e']);
  });

  it('answers late when the store is away, keeps the claim, and finds the event done when it is back', () => {
    const { time, process, stored } = world();
    const [a, b] = [process('a'), process('b')];
    a.sink.hold();
    const first = a.take('e');
    time.advance(1_999);
    expect(first.values).toEqual([]);
    time.advance(1);
    expect([first.values, first.ending]).toEqual([['late'], 'complete']);

    // Longer than a lease: the claim is renewed, so nobody else begins.
    time.advance(60_000);
    const again = [a.take('e'), b.take('e')];
    time.advance(2_000);
    expect(again.map(({ values }) => values)).toEqual([['late'], ['late']]);

    a.sink.release();
    expect([a.take('e'), b.take('e')].map(({ values }) => values)).toEqual([['duplicate'], ['duplicate']]);
    expect(stored()).toEqual(['e']);
  });

  it('S000-71: what a process claimed and did not live to write is taken by the next delivery', () => {
    const { time, process, stored } = world();
    const [dead, alive] = [process('dead'), process('alive')];
    // It dies: neither its write nor its renewals go on.
    dead.sink.hold();
    dead.take('e').subscription.unsubscribe();
    time.clear();

    const early = alive.take('e');
    time.advance(2_000);
    expect(early.values).toEqual(['late']);
    time.advance(13_000);
    expect(alive.take('e').values).toEqual(['stored']);
    expect(stored()).toEqual(['e']);
  });

  it('goes on with what it claimed when the client goes away', () => {
    const { process, stored } = world();
    const { take, sink, intake } = process('a');
    sink.hold();
    take('e').subscription.unsubscribe();
    expect(intake.held).toBe(1);
    sink.release();

    expect([intake.held, take('e').values]).toEqual([0, ['duplicate']]);
    expect(stored()).toEqual(['e']);
  });

  it('refuses at once when too many events, or too many bytes, are not yet stored', () => {
    const { process } = world();
    const { take, sink, intake } = process('a');
    sink.hold();
    take('big', 'x'.repeat(900));
    expect(take('wide', 'x'.repeat(200)).values).toEqual(['busy']);
    take('b');
    take('c');
    expect(take('d').values).toEqual(['busy']);

    sink.release();
    expect([intake.held, take('d').values]).toEqual([0, ['stored']]);
  });
});
