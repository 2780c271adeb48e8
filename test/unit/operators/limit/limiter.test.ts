import { describe, expect, it } from 'vitest';

import { Limiter } from '../../../../src/operators/index.ts';
import type { LimitKey } from '../../../../src/ports/profile.ts';

const tier: LimitKey = { key: 'app/tenant/messages', windows: [{ limit: 3, windowMs: 1_000 }] };
const chat = (id: number): LimitKey => ({ key: `chat/${id}`, windows: [{ limit: 1, windowMs: 1_000 }] });
const unstretched = { stretchMs: 0 };

describe('Limiter', () => {
  it('grants by all keys or by none', () => {
    const limiter = new Limiter(unstretched);
    expect(limiter.tryTake([tier, chat(1)], 0)).toBe(0);
    expect(limiter.tryTake([tier, chat(1)], 100)).toBe(900);

    // The refused one has cost the tier nothing.
    expect([limiter.tryTake([tier, chat(2)], 100), limiter.tryTake([tier, chat(3)], 100)]).toEqual([0, 0]);
    expect(limiter.tryTake([tier, chat(4)], 100)).toBe(900);
  });

  it('stretches every window by the spread of the path and the life of a grant', () => {
    const limiter = new Limiter();
    limiter.tryTake([chat(1)], 0);

    expect(limiter.tryTake([chat(1)], 1_000)).toBe(60);
  });

  it('says when a call may start and which key decides it', () => {
    const limiter = new Limiter(unstretched);
    expect(limiter.earliestMs([tier, chat(1)], 50)).toEqual({ atMs: 50, key: tier.key });

    limiter.tryTake([tier, chat(1)], 50);
    expect(limiter.earliestMs([tier, chat(1)], 60)).toEqual({ atMs: 1_050, key: 'chat/1' });
    expect(limiter.earliestMs([], 60)).toEqual({ atMs: 60, key: '' });
  });

  it('counts what is promised, so that no more are let through than can start', () => {
    const limiter = new Limiter(unstretched);
    let through = 0;
    while (limiter.earliestMs([tier], 0).atMs === 0) {
      limiter.promise([tier]);
      through++;
    }
    expect(through).toBe(3);

    expect([0, 0, 0].map(() => limiter.tryTake([tier], 0))).toEqual([0, 0, 0]);
    for (let i = 0; i < 3; i++) limiter.unpromise([tier]);
    expect(limiter.earliestMs([tier], 0).atMs).toBe(1_000);
    expect(limiter.snapshot(0).promised).toBe(0);
  });

  it('has the place again of a promise that was not used', () => {
    const limiter = new Limiter(unstretched);
    for (let i = 0; i < 3; i++) limiter.promise([tier]);
    limiter.unpromise([tier]);

    expect(limiter.earliestMs([tier], 0).atMs).toBe(0);
  });

  it('has a grant again that was given back by who could not use it', () => {
    const limiter = new Limiter(unstretched);
    limiter.tryTake([chat(1)], 0);
    limiter.giveBack([chat(1)], 0);

    expect(limiter.tryTake([chat(1)], 10)).toBe(0);
    expect(limiter.snapshot(10)).toMatchObject({ grants: 1, refusals: 0 });
  });

  it('S13: lets a key rest after a refusal, and no other', () => {
    const limiter = new Limiter(unstretched);
    limiter.coolDown(tier.key, 7_250);
    limiter.coolDown(tier.key, 5_250);

    expect(limiter.tryTake([tier, chat(1)], 3_000)).toBe(4_250);
    expect(limiter.earliestMs([tier], 3_000)).toEqual({ atMs: 7_250, key: tier.key });
    expect(limiter.tryTake([chat(1)], 3_000)).toBe(0);
    expect(limiter.snapshot(3_000)).toMatchObject({ cooling: 1, grants: 1, refusals: 1 });
    expect(limiter.tryTake([tier], 7_250)).toBe(0);
  });

  it('keeps its grants when a tier is given anew or changes', () => {
    const limiter = new Limiter(unstretched);
    for (let i = 0; i < 3; i++) limiter.tryTake([{ ...tier, windows: [...tier.windows] }], 0);
    expect(limiter.tryTake([{ ...tier, windows: [{ limit: 3, windowMs: 1_000 }] }], 10)).toBe(990);

    const wider = { ...tier, windows: [{ limit: 4, windowMs: 1_000 }] };
    expect([limiter.tryTake([wider], 10), limiter.tryTake([wider], 10)]).toEqual([0, 990]);
  });

  it('forgets keys that no longer matter, and none that does', () => {
    const limiter = new Limiter({ stretchMs: 0, maxKeys: 100 });
    const busy: LimitKey = { key: 'busy', windows: [{ limit: 1, windowMs: 1e9 }] };
    limiter.tryTake([busy], 0);
    for (let i = 0; i < 50_000; i++) limiter.tryTake([chat(i)], i * 20);

    expect(limiter.snapshot(1e6).keys).toBeLessThanOrEqual(100);
    expect(limiter.tryTake([busy], 1e6)).toBeGreaterThan(0);
  });

  it('sends 300 calls through 100 per minute without overrunning any window', () => {
    const limiter = new Limiter();
    const minute: LimitKey = { key: 'contacts', windows: [{ limit: 100, windowMs: 60_000 }] };
    const starts: number[] = [];
    for (let nowMs = 0; starts.length < 300;) {
      const waitMs = limiter.tryTake([minute], nowMs);
      if (waitMs === 0) starts.push(nowMs);
      nowMs += waitMs;
    }

    expect(starts.every((atMs, i) => atMs - (starts[i - 100] ?? -Infinity) >= 60_000)).toBe(true);
    expect(starts.at(-1)).toBe(120_120);
  });
});
