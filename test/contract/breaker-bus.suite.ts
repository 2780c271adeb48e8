import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';

import { type BreakerBus, type BreakerNews, probeQuietMs } from '../../src/ports/breaker-bus.ts';
import { only } from '../support/only.ts';

const key = 'news.internal/news';
const probed: BreakerNews = { kind: 'probed', upstream: 'news', key, good: false };

/** Buses of two workers, and a way to let their clock go on. */
export interface BreakerBuses {
  readonly a: BreakerBus;
  readonly b: BreakerBus;
  readonly wait: (ms: number) => Promise<void>;
}

/** Tells, and waits until everybody was told. */
export const tell = (bus: BreakerBus, news: BreakerNews) => lastValueFrom(bus.tell(news).pipe(toArray()));

/** Whether who asks now may send the probe of a breaker. */
const takes = (bus: BreakerBus, withinMs = 60_000, upstream = 'news', of = key) =>
  only(bus.takeProbe(upstream, of, withinMs));

/** What every {@link BreakerBus} promises. @param open buses of two workers that share nothing with those of other tests */
export function breakerBusSuite(name: string, open: () => BreakerBuses): void {
  describe(`breaker bus: ${name}`, () => {
    it('tells the others, not the one who tells', async () => {
      const { a, b } = open();
      const heard = { a: [] as BreakerNews[], b: [] as BreakerNews[] };
      const error = (thrown: unknown) => expect.fail(String(thrown));
      a.news$.subscribe({ next: (news) => heard.a.push(news), error });
      b.news$.subscribe({ next: (news) => heard.b.push(news), error });
      const opened: BreakerNews = { kind: 'opened', upstream: 'news', key, forMs: 5_000 };
      // Who has just begun to listen may miss what is said at that moment.
      await vi.waitFor(async () => {
        expect(await tell(a, opened)).toEqual([]);
        expect(heard.b[0]).toEqual(opened);
      });
      await tell(a, probed);
      await vi.waitFor(() => expect(heard.b.at(-1)).toEqual(probed));
      expect(heard.a).toEqual([]);
    });

    it('gives the probe of a breaker to one of them at a time, and those of other breakers beside it', async () => {
      const { a, b } = open();
      expect(await takes(a)).toBe(true);
      expect([await takes(b), await takes(a)]).toEqual([false, false]);
      expect(await takes(b, 60_000, 'stock')).toBe(true);
      expect(await takes(b, 60_000, 'news', 'another.host/news')).toBe(true);
    });

    it('gives the next one to whoever asks first, soon after it was told of the last one, and not at once', async () => {
      const { a, b, wait } = open();
      expect(await takes(a)).toBe(true);
      await tell(a, probed);
      expect([await takes(b), await takes(a)]).toEqual([false, false]);
      await wait(probeQuietMs + 50);
      expect([await takes(b), await takes(a)]).toEqual([true, false]);
    });

    it('gives the next one, too, when nobody tells what became of the last one: after its time, and the quiet', async () => {
      const { a, b, wait } = open();
      expect(await takes(a, 200)).toBe(true);
      await wait(250);
      expect(await takes(b)).toBe(false);
      await wait(probeQuietMs);
      expect([await takes(b), await takes(a)]).toEqual([true, false]);
    });

    it('keeps nobody away for what was told without a probe', async () => {
      const { a, b } = open();
      await tell(a, probed);
      expect(await takes(b)).toBe(true);
    });
  });
}
