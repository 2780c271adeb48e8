import { describe, expect, it } from 'vitest';

import { type Look, Pulse } from '../../../../src/adapters/kafka/pulse.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

class Brokers implements Look {
  there = true;
  silent = false;
  asked = 0;
  #waiting: (() => void)[] = [];

  async ask(): Promise<void> {
    this.asked += 1;
    if (!this.there) throw new Error('refused');
    if (this.silent) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  speak(): void {
    this.silent = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  close = () => Promise.resolve();
}

async function stage(there = true) {
  const time = new VirtualTime();
  const brokers = new Brokers();
  brokers.there = there;
  const pulse = new Pulse(brokers, { clock: time, timers: time });
  const before = pulse.beats;
  await time.advanceAsync(0);
  return { time, brokers, pulse, before };
}

describe('Pulse', () => {
  it('asks at once, and knows of no broker before one has answered', async () => {
    const { pulse, before, time, brokers } = await stage(false);
    expect([before, pulse.beats]).toEqual([false, false]);
    brokers.there = true;
    await time.advanceAsync(1_000);
    expect(pulse.beats).toBe(true);
  });

  it('asks every five seconds while nothing else is heard of a broker, and not at all while it acknowledges', async () => {
    const { time, brokers, pulse } = await stage();
    await time.advanceAsync(20_000);
    expect(brokers.asked).toBe(5);
    for (let second = 0; second < 20; second++) {
      pulse.felt();
      await time.advanceAsync(1_000);
    }
    expect(brokers.asked).toBe(5);
  });

  it('tells within eight seconds that the brokers are gone, and a second after they came back that they are there', async () => {
    const { time, brokers, pulse } = await stage();
    brokers.there = false;
    await time.advanceAsync(5_000);
    expect(pulse.beats).toBe(false);
    await time.advanceAsync(60_000);
    expect(pulse.beats).toBe(false);
    brokers.there = true;
    await time.advanceAsync(1_000);
    expect(pulse.beats).toBe(true);
  });

  it('takes three seconds without an answer for an absence, asks one question at a time, and believes a late answer', async () => {
    const { time, brokers, pulse } = await stage();
    brokers.silent = true;
    await time.advanceAsync(7_999);
    expect(pulse.beats).toBe(true);
    await time.advanceAsync(1);
    expect(pulse.beats).toBe(false);
    await time.advanceAsync(30_000);
    expect(brokers.asked).toBe(2);
    brokers.speak();
    await time.advanceAsync(0);
    expect(pulse.beats).toBe(true);
  });

  it('believes an acknowledgement that came while nobody answered', async () => {
    const { time, brokers, pulse } = await stage();
    brokers.silent = true;
    await time.advanceAsync(6_000);
    pulse.felt();
    await time.advanceAsync(2_000);
    expect(pulse.beats).toBe(true);
  });

  it('asks no more once it is closed', async () => {
    const { time, brokers, pulse } = await stage();
    await pulse.close();
    await time.advanceAsync(60_000);
    expect([brokers.asked, time.pending]).toEqual([1, 0]);
  });
});
