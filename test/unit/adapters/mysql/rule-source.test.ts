import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { connectionOf, MysqlRuleSource } from '../../../../src/adapters/mysql/rule-source.ts';
import { systemTimers } from '../../../../src/adapters/system/clock.ts';
import { ScriptedMysql } from '../../../support/scripted-mysql.ts';

describe('rules in a table of MySQL', () => {
  let mysql: ScriptedMysql;
  beforeEach(async () => {
    mysql = await ScriptedMysql.start();
  });
  afterEach(() => mysql.stop());
  const source = (timeoutMs = 500, table = 'routing_rules') =>
    new MysqlRuleSource({ url: mysql.url, table, timeoutMs, timers: systemTimers });

  it('are read in their order, each with its name and place, and the connection is closed', async () => {
    mysql.rows = [
      { name: 'one', position: 1, rule: '{"on":"im.*","topic":"copies"}' },
      { name: 'two', position: 2, rule: 'no JSON' },
    ];
    expect(await source().readAll()).toEqual([
      { name: 'one', position: 1, on: 'im.*', topic: 'copies' },
      { name: 'two', position: 2 },
    ]);
    expect(mysql.queries).toEqual([
      'SELECT name, position, rule FROM `routing_rules` WHERE enabled = 1 ORDER BY position, name LIMIT 100001',
    ]);
    await expect.poll(() => mysql.open).toBe(0);
  });

  it('S004-33: are given up after their time, and the connection is cut', async () => {
    mysql.delayMs = Infinity;
    await expect(source(80).readAll()).rejects.toMatchObject({
      code: 'rules_unavailable',
      message: expect.stringContaining('/routing/routing_rules: no answer within 80 ms') as unknown,
    });
    await expect.poll(() => mysql.open).toBe(0);
  });

  it('come with TLS only from a server whose certificate is for its host name', () => {
    expect(connectionOf({ url: 'mysqls://me:pw@db.example/routing', timeoutMs: 500 })).toEqual({
      ...{ uri: 'mysql://me:pw@db.example/routing', connectTimeout: 500 },
      ssl: { verifyIdentity: true },
    });
    expect(connectionOf({ url: mysql.url, timeoutMs: 500 })).not.toHaveProperty('ssl');
  });

  it('that cannot be reached are an error that names the table, never the password', async () => {
    const { url } = mysql;
    await mysql.stop();
    const error = await new MysqlRuleSource({ url, table: 'a.b', timeoutMs: 500, timers: systemTimers })
      .readAll()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'rules_unavailable', retryable: true });
    expect(String(error)).toContain('a.b');
    expect(JSON.stringify(error) + String(error)).not.toContain('pw');
    mysql = await ScriptedMysql.start();
  });
});
