import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { type EventHouse, openEventHouse } from '../../support/event-house.ts';
import { ScriptedMysql } from '../../support/scripted-mysql.ts';

const waiting = { timeout: 20_000, interval: 20 };
vi.setConfig({ testTimeout: 120_000 });

const copy = (name: string, on: string, topic: string) => ({
  name,
  position: 1,
  rule: JSON.stringify({
    on,
    call: { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body: toChat(topic) },
  }),
});
const toChat = (text: string) =>
  `{"receive_id": event.message.chat_id, "msg_type": "text", "content": $string({"text": "${text}"})}`;

describe('a whole process whose rules lie in MySQL', () => {
  let mysql: ScriptedMysql;
  let house: EventHouse;
  let events = 0;
  beforeEach(async () => {
    mysql = await ScriptedMysql.start();
    mysql.rows = [copy('echo', 'im.message.receive_v1', 'first')];
    house = await openEventHouse(
      '  []',
      undefined,
      `routeTable: { mysql: '${mysql.url}', exportMs: 1000, sharedMs: 2000 }`,
    );
    events = 0;
  });
  afterEach(async () => {
    await house.close();
    await mysql.stop();
  });

  const metrics = async (): Promise<(name: string) => number> => {
    const text = await (await fetch(`${house.served.adminUrl}/metrics`)).text();
    return (name) => {
      const line = text.split('\n').find((one) => one.startsWith(`${name} `));
      return Number(line?.split(' ')[1] ?? NaN);
    };
  };
  /** Readings that took more than half a second, as the alarm counts them. */
  const slow = async (): Promise<number> => {
    const now = await metrics();
    return now('rule_source_query_seconds_count') - now('rule_source_query_seconds_bucket{le="0.5"}');
  };
  const fromSource = async (): Promise<number> => (await metrics())('route_lookup_total{tier="source"}');
  const status = async () =>
    (await (await fetch(`${house.served.adminUrl}/admin/status`)).json()) as {
      rules: { degraded: readonly string[]; source: string };
    };
  const ready = async () => (await fetch(`${house.served.adminUrl}/readyz`)).status;
  /** Delivers events, and waits until each has had its effect at the platform. */
  const route = async (count: number): Promise<void> => {
    const { target, sandbox } = house;
    events += count;
    await sandbox.sendEvents({ target, events: count });
    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(events), waiting);
  };

  it('S000-81: a reading that takes 600 ms shows in the metric of the alarm, and events are routed by the rules that are known', async () => {
    await vi.waitFor(async () => expect(await ready()).toBe(200), waiting);
    await route(2);
    const slowBefore = await slow();

    mysql.delayMs = 600;
    const before = mysql.queries.length;
    await vi.waitFor(() => expect(mysql.queries.length).toBeGreaterThan(before), waiting);
    await route(20);
    await vi.waitFor(async () => expect(await slow()).toBeGreaterThan(slowBefore), waiting);
    expect((await status()).rules.degraded.join()).toContain('no answer within 500 ms');
    const now = await metrics();
    expect([now('larkspur_rules_degraded{tier="source"}'), now('larkspur_rules_degraded{tier="shared"}')]).toEqual([
      1, 0,
    ]);
    expect(now('larkspur_rule_source_failures_total')).toBeGreaterThan(0);
  });

  it('S004-05: a source that takes 2.3 s, and then is dead, keeps no event waiting; what it says when it is back is in use', async () => {
    await vi.waitFor(async () => expect(await ready()).toBe(200), waiting);
    await route(1);
    mysql.delayMs = 2_300;
    const before = mysql.queries.length;
    await vi.waitFor(() => expect(mysql.queries.length).toBeGreaterThan(before), waiting);
    await route(20);
    mysql.delayMs = Infinity;
    await route(20);
    expect(await fromSource()).toBeNaN();
    expect(await ready()).toBe(200);

    mysql.delayMs = 0;
    mysql.rows = [copy('echo', 'im.message.receive_v1', 'second')];
    const { target, sandbox } = house;
    await vi.waitFor(async () => {
      await sandbox.sendEvents({ target, events: 1 });
      expect((await house.records('calls')).map(({ value }) => String(value)).join()).toContain('second');
    }, waiting);
    expect((await metrics())('larkspur_rules_degraded{tier="source"}')).toBe(0);
  });

  it('S004-26: when nine of ten events are of three apps and types, metric and console name them within ten seconds', async () => {
    await vi.waitFor(async () => expect(await ready()).toBe(200), waiting);
    let n = 0;
    const send = async (): Promise<void> => {
      const type = n++ % 10 === 0 ? `rare.${n}` : `hot.${n % 3}`;
      const header = { event_id: `e-${n}`, event_type: type, app_id: 'cli_a', create_time: String(Date.now()) };
      await house.deliver({ schema: '2.0', header: { ...header, token: '', tenant_key: 't' }, event: {} });
    };
    const named = async (): Promise<string[]> => {
      const text = await (await fetch(`${house.served.adminUrl}/metrics`)).text();
      return [...text.matchAll(/larkspur_hot_key_per_second\{where="events",key="([^"]+)"\}/g)].map(
        ([, key = '']) => key,
      );
    };
    const wanted = ['cli_a/hot.0', 'cli_a/hot.1', 'cli_a/hot.2'];
    await vi.waitFor(
      async () => {
        await Promise.all(Array.from({ length: 30 }, send));
        expect((await named()).sort()).toEqual(wanted);
      },
      { timeout: 10_000, interval: 1 },
    );
    const shown = (await (await fetch(`${house.served.adminUrl}/admin/status`)).json()) as {
      hotKeys: { where: string; key: string }[];
    };
    expect(shown.hotKeys.map(({ key }) => key).sort()).toEqual(wanted);
  });
});
