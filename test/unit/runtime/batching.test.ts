import { describe, expect, it, onTestFinished } from 'vitest';

import type { RawConfig } from '../../../src/config/schema.ts';
import type { Call } from '../../../src/model/call.ts';
import { openLiveHouse } from '../../support/live-house.ts';

type RawFeishu = NonNullable<RawConfig['upstreams']>[string];

async function outcomesOf(calls: readonly Call[], feishu: RawFeishu) {
  const house = await openLiveHouse({ raw: () => ({ upstreams: { feishu } }) });
  onTestFinished(() => house.close());
  await house.produce(calls.map((call) => [call, null]));
  await house.ended(calls.length, 30_000);
  const asked = house.sandbox.requests(1_000).filter(({ path }) => path.startsWith('/open-apis/contact'));
  const results = (await house.results()).map(({ id, status, response }) => [
    id,
    [status, response?.status, response?.code, response?.body],
  ]);
  const letters = (await house.deadLetters()).map(({ id, reason, message }) => [id, [reason, message]]);
  return { asked, endings: Object.fromEntries([...results, ...letters]) as Record<string, unknown>, house };
}

const contact = (n: number): Call => {
  const user = n % 50 === 20 ? `ou_missing_${n}` : n % 4 === 1 ? `on_ou_${n}` : `ou_${n}`;
  const query = n % 4 === 1 ? { query: { user_id_type: 'union_id' } } : {};
  return { id: `c-${n}`, method: 'GET', path: `/open-apis/contact/v3/users/${user}`, ...query };
};

describe('contacts that are asked for faster than the quota allows, over real HTTP', () => {
  it('200 of them need a few requests with batching, and each ends as it does without', async () => {
    const calls = Array.from({ length: 200 }, (_, n) => contact(n));
    const together = await outcomesOf(calls, { batching: true, limits: [{ perSecond: 5 }] });
    const each = await outcomesOf(calls, {});
    expect(together.endings).toEqual(each.endings);
    expect(Object.keys(together.endings)).toHaveLength(200);
    expect(each.asked).toHaveLength(200);
    // 5 alone at once, two kinds of ids, and the 4 that are missing once more by themselves.
    expect(together.asked.length).toBeLessThan(30);
    const count = [...together.house.metrics.samples('larkspur_batch_calls_count')].map(([, value]) => value);
    expect(count).toEqual([together.asked.filter(({ path }) => path.includes('/users/batch')).length]);
  });
});
