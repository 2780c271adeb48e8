import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { BrokerClock } from '../../../src/pipeline/broker-clock.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const eighteenMinutesMs = 18 * 60_000;

/** A worker whose own clock may be wrong, and a broker whose clock is right. */
class Stage {
  readonly time = new VirtualTime();
  ownAheadMs = 0;
  readonly clock: BrokerClock;

  constructor(ClockOf: typeof BrokerClock = BrokerClock) {
    this.clock = new ClockOf({ now: () => this.time.now(), wall: () => this.time.wall() + this.ownAheadMs });
  }

  /** A record is sent, dated on its arrival, and acknowledged. */
  write(outMs: number, backMs: number): void {
    const sentMs = this.time.now();
    this.time.advance(outMs);
    const storedAtMs = Math.floor(this.time.wall());
    this.time.advance(backMs);
    this.clock.dated(storedAtMs, sentMs);
  }

  get errorMs(): number {
    return Math.abs(this.clock.wall() - this.time.wall());
  }
}

/** Takes the moment of the answer for that of the date. */
class Late extends BrokerClock {
  override dated(storedAtMs: number): void {
    super.dated(storedAtMs, this.now());
  }
}

/** Goes by its own clock. */
class Deaf extends BrokerClock {
  override dated(): void {
    // Not interested.
  }
}

const way = fc.double({ min: 0, max: 2_000, noNaN: true });
const aheadMs = fc.integer({ min: -3_600_000, max: 3_600_000 });

/** Whether the error is never larger than the whole way of a write so far. */
function holdsFor(ClockOf: typeof BrokerClock): boolean {
  const { failed } = fc.check(
    fc.property(
      aheadMs,
      fc.array(fc.tuple(way, way), { minLength: 1, size: 'max', maxLength: 50 }),
      (ahead, writes) => {
        const stage = new Stage(ClockOf);
        stage.ownAheadMs = ahead;
        let leastMs = Infinity;
        return writes.every(([outMs, backMs]) => {
          stage.write(outMs, backMs);
          leastMs = Math.min(leastMs, outMs + backMs + 1);
          return stage.errorMs <= leastMs + 0.001;
        });
      },
    ),
  );
  return !failed;
}

describe('the clock of the broker', () => {
  it('is our own until the broker has dated a write', () => {
    const stage = new Stage();
    stage.ownAheadMs = eighteenMinutesMs;
    expect(stage.clock.wall() - stage.time.wall()).toBe(eighteenMinutesMs);
    stage.write(3, 4);
    expect(stage.errorMs).toBeLessThanOrEqual(8);
  });

  it('is known as well as the quickest write so far allows, however wrong ours is', () => {
    expect(holdsFor(BrokerClock)).toBe(true);
  });

  it.each([
    ['takes the answer for the date', Late],
    ['goes by its own', Deaf],
  ] as const)('is not known so well by one that %s', (_, ClockOf) => {
    expect(holdsFor(ClockOf)).toBe(false);
  });

  it('does not move with a step of ours', () => {
    const stage = new Stage();
    stage.write(3, 4);
    const beforeMs = stage.clock.wall() - stage.time.wall();
    stage.ownAheadMs = -eighteenMinutesMs;
    expect(stage.clock.wall() - stage.time.wall()).toBe(beforeMs);
  });

  it('is followed when it is set', () => {
    const stage = new Stage();
    stage.write(3, 4);
    stage.clock.dated(stage.time.wall() + 60_000, stage.time.now() - 10);
    expect(stage.clock.wall() - stage.time.wall()).toBeGreaterThan(59_980);
  });
});
