import { type ConnectionOptions, createConnection, type RowDataPacket } from 'mysql2';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import { jsonOrText } from '../../model/json-levels.ts';
import { isTree } from '../../model/schema-words.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RuleSource } from '../../ports/rule-source.ts';
import { inTime } from '../system/in-time.ts';

/** Which table, and how long it may take. */
export interface MysqlRuleSourceOptions {
  /** `mysql://user:password@host:port/database`, `mysqls://` with TLS, whose certificate must be for that host name. */
  readonly url: string;
  /** With the columns `name`, `position`, `enabled` and `rule`, the last one JSON in the words of a route. */
  readonly table: string;
  readonly timeoutMs: number;
  readonly timers: Timers;
}

const mostRules = 100_000;

/**
 * {@link RuleSource} in a table of MySQL or MariaDB. A connection lives for one reading: there is one in an hour. Whatever has not
 * come within `timeoutMs` is given up and its connection cut.
 */
export class MysqlRuleSource implements RuleSource {
  readonly name: string;
  readonly #options: MysqlRuleSourceOptions;
  readonly #sql: string;

  constructor(options: MysqlRuleSourceOptions) {
    this.#options = options;
    const { host, pathname } = new URL(options.url);
    this.name = `${host}${pathname}/${options.table}`;
    const table = options.table
      .split('.')
      .map((part) => `\`${part}\``)
      .join('.');
    this.#sql = `SELECT name, position, rule FROM ${table} WHERE enabled = 1 ORDER BY position, name LIMIT ${mostRules + 1}`;
  }

  async readAll(): Promise<readonly unknown[]> {
    const { timeoutMs, timers } = this.#options;
    const connection = createConnection(connectionOf(this.#options));
    const rows = new Promise<RowDataPacket[]>((resolve, reject) => {
      connection.on('error', reject);
      connection.query<RowDataPacket[]>(this.#sql, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
    try {
      const found = await inTime(rows, timeoutMs, timers, () => new Error(`no answer within ${timeoutMs} ms`));
      if (found.length > mostRules) throw new Error(`it holds more than ${mostRules} rules`);
      return found.map(ruleOf);
    } catch (error) {
      throw new LarkspurError('rules_unavailable', `${this.name}: ${messageOf(error)}`, {
        cure: 'check that the database runs, the address in routeTable.mysql, and that its user may read the table',
        retryable: true,
        cause: error,
      });
    } finally {
      connection.destroy();
    }
  }
}

/** How the driver is told. */
export function connectionOf({ url, timeoutMs }: Pick<MysqlRuleSourceOptions, 'url' | 'timeoutMs'>): ConnectionOptions {
  const tls = url.startsWith('mysqls:');
  const uri = tls ? url.replace(/^mysqls:/, 'mysql:') : url;
  // By itself the driver takes any certificate of an authority it knows, whoever it is for.
  return { uri, connectTimeout: timeoutMs, ...(tls ? { ssl: { verifyIdentity: true } } : {}) };
}

/** A row in the words of a route. What is no JSON is no rule, which the check says. */
function ruleOf({ name, position, rule }: RowDataPacket): unknown {
  const written: unknown = typeof rule === 'string' ? jsonOrText(rule) : rule;
  return { ...(isTree(written) ? written : {}), name: name as unknown, position: position as unknown };
}
