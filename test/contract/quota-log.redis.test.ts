import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { MemoryQuotaLog } from '../../src/adapters/embedded/quota-log.ts';
import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import { loadScript } from '../../src/adapters/redis/scripts.ts';
import { fullHistory, type HistoryStep, play } from '../support/quota/histories.ts';
import type { QuotaLogBench } from '../support/quota/quota-bench.ts';
import { openConnections, openRedisBench, withMutant } from '../support/quota/redis-quota-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { quotaLearningSuite } from './quota-log-learning.suite.ts';
import { quotaLogSuite } from './quota-log.suite.ts';

function memoryBench(): QuotaLogBench {
  const time = new VirtualTime();
  const log = new MemoryQuotaLog(time, { stretchMs: 0 });
  const advance = (ms: number): Promise<void> => {
    time.advance(ms);
    return Promise.resolve();
  };
  const done = (): Promise<void> => Promise.resolve();
  return { log, other: log, now: () => time.now(), advance, settle: done, close: done };
}

describeWithEachRedis('on Redis', (url) => {
  let connections: readonly [RedisConnection, RedisConnection];
  beforeAll(async () => {
    connections = await openConnections(url);
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  });

  quotaLogSuite('Redis', () => openRedisBench(connections), 40);
  quotaLearningSuite('Redis', () => openRedisBench(connections));

  describe('the script and its model', () => {
    const answersAlike = (on: () => readonly [RedisConnection, RedisConnection]) =>
      fc.asyncProperty(fullHistory, async (history: readonly HistoryStep[]) => {
        const [redis, model] = [await openRedisBench(on()), memoryBench()];
        try {
          expect(await play(redis, history)).toEqual(await play(model, history));
        } finally {
          await redis.close();
        }
      });
    const runs = { numRuns: 200, seed: 29 };

    it('answer alike, whatever comes in whatever order from two processes', async () => {
      await fc.assert(
        answersAlike(() => connections),
        runs,
      );
    });

    it.each<[string, string, string]>([
      ['closed windows', 'tonumber(head) + w.us <= now', 'tonumber(head) + w.us < now'],
      ['one start too many', 'w.taken >= most then', 'w.taken > most then'],
      ['only the last bucket', 'if startUs > nextUs then nextUs', 'if true then nextUs'],
      ['a rest that shrinks', 'b.cool = math.max(b.cool, now + cool)', 'b.cool = now + cool'],
      ['a rest that grants', 'local startUs = b.cool', 'local startUs = 0'],
      ['a wait by the oldest start of all', "redis.call('LINDEX', w.list, -most)", "redis.call('LINDEX', w.list, 0)"],
      ['a return of the newest start', "redis.call('LREM', w.list, -1, stamp)", "redis.call('RPOP', w.list)"],
      ['starts before those that were granted', 'startUs = math.max(startUs, last)\n', ''],
      ['starts in a heap', 'if spread and', 'if false and'],
      ['starts ahead in any bucket', 'nextUs <= now or deciding == 1 and', 'nextUs <= now or'],
      ['starts too far ahead', 'nextUs - now <= ahead', 'true'],
      ['starts of an outage at the end', 'table.sort(times)', ''],
      ['a factor that never grows', 'if full then wanted', 'if false then wanted'],
      [
        'a factor that grows unasked',
        'if full then wanted(b, shortest.taken < allowed(b, shortest)) end',
        'if shortest then wanted(b, false) end',
      ],
      ['a rest that counts as a try', 'now - math.max(b.changed, b.cool)', 'now - b.changed'],
      ['tries in a minute that is used up', 'if costly and', 'if false and'],
      ['a step that was refused and says more', 'or kept and less then', 'then'],
      ['every refusal on its own', 'if b.cool <= now then restBegins', 'if true then restBegins'],
    ])('differ when the script has %s', async (_, of, by) => {
      const mutant = (source: string): string => source.replace(of, () => by);
      expect(loadScript('quota').source).toContain(of);
      const [first, second] = connections;
      const details = await fc.check(
        answersAlike(() => [withMutant(first, mutant), withMutant(second, mutant)]),
        { ...runs, endOnFailure: true },
      );
      expect(details.failed).toBe(true);
    });
  });
});
