import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { MysqlRuleSource } from '../../../src/adapters/mysql/rule-source.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import { openEventHouse } from '../../support/event-house.ts';
import { LocalMysql, mysqlMissing } from '../../support/services/local-mysql.ts';

const table = `CREATE TABLE routing_rules (
  name varchar(64) PRIMARY KEY, position int NOT NULL DEFAULT 0, enabled tinyint NOT NULL DEFAULT 1, rule json NOT NULL
)`;
const toChat = (text: string) => ({
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: `{"receive_id": event.message.chat_id, "msg_type": "text", "content": $string({"text": "${text}"})}`,
});
const waiting = { timeout: 30_000, interval: 50 };

describe.skipIf(mysqlMissing !== '')(
  `routes in a real MariaDB${mysqlMissing === '' ? '' : ` (skipped: ${mysqlMissing})`}`,
  () => {
    let mysql: LocalMysql;
    beforeAll(async () => {
      mysql = await LocalMysql.start();
      await mysql.query(table);
    }, 120_000);
    afterAll(() => mysql.stop());
    const source = (timeoutMs = 2_000) =>
      new MysqlRuleSource({ url: mysql.url, table: 'routing_rules', timeoutMs, timers: systemTimers });

    it('are read in their order, 5,000 at once, without those that are switched off, whatever letters they hold', async () => {
      const rule = JSON.stringify({ on: 'im.*', topic: 'copies', when: "event.text = '你好 🌿'" });
      const rows = Array.from({ length: 5_000 }, (_, n) => [`rule-${n}`, 5_000 - n, n === 7 ? 0 : 1, rule]);
      await mysql.query('INSERT INTO routing_rules (name, position, enabled, rule) VALUES ?', [rows]);

      const read = (await source().readAll()) as { name: string; position: number }[];
      expect(read).toHaveLength(4_999);
      expect(read[0]).toEqual({
        ...{ name: 'rule-4999', position: 1, on: 'im.*', topic: 'copies' },
        when: "event.text = '你好 🌿'",
      });
      expect(read.map(({ name }) => name)).not.toContain('rule-7');
      await mysql.query('DELETE FROM routing_rules');
    });

    it('S004-33: are given up while the server stands still, or is gone, and read again when it is back', async () => {
      mysql.freeze();
      await expect(source(200).readAll()).rejects.toMatchObject({ code: 'rules_unavailable', retryable: true });
      mysql.thaw();
      expect(await source().readAll()).toEqual([]);
      await mysql.kill();
      await expect(source().readAll()).rejects.toMatchObject({ code: 'rules_unavailable' });
      await mysql.up();
      expect(await source().readAll()).toEqual([]);
    });

    it('S004-20: send events where the table says, and elsewhere after a row was changed and exported', async () => {
      const insert = 'INSERT INTO routing_rules (name, rule) VALUES (?, ?)';
      await mysql.query(insert, ['hello', JSON.stringify({ on: 'im.message.receive_v1', call: toChat('before') })]);
      const house = await openEventHouse('  []', undefined, `routeTable: { mysql: '${mysql.url}', exportMs: 500 }`);
      const { target, sandbox } = house;
      try {
        await vi.waitFor(
          async () => expect((await fetch(`${house.served.adminUrl}/readyz`)).status).toBe(200),
          waiting,
        );
        await sandbox.sendEvents({ target, events: 1 });
        await vi.waitFor(async () => expect((await house.records('calls')).map(textOf)).toEqual(['before']), waiting);

        const changed = JSON.stringify({ on: 'im.message.receive_v1', call: toChat('after') });
        await mysql.query('UPDATE routing_rules SET rule = ? WHERE name = ?', [changed, 'hello']);
        await vi.waitFor(async () => {
          await sandbox.sendEvents({ target, events: 1 });
          expect((await house.records('calls')).map(textOf)).toContain('after');
        }, waiting);
      } finally {
        await house.close();
      }
    });
  },
);

function textOf({ value }: { readonly value: Buffer | null }): string {
  const { body } = JSON.parse(String(value)) as { body: { content: string } };
  return (JSON.parse(body.content) as { text: string }).text;
}
