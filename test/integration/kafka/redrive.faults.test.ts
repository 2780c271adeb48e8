import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

import { firstValueFrom, from, mergeAll, toArray } from 'rxjs';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { KafkaReader } from '../../../src/adapters/kafka/reader.ts';
import type { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import { deadLetterHeaders, roundOf } from '../../../src/model/dead-letter.ts';
import { headerText, type InRecord } from '../../../src/model/record.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { openClaims } from '../../support/redis.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';

const root = join(import.meta.dirname, '../../..');
const all = 120_000;
const wanted = 100_000;

const isWanted = (n: number): boolean => n % 6 !== 5;

/** A dead letter as a worker writes it: every sixth one for a reason that the filter does not name. */
function deadLetter(n: number) {
  const reason = isWanted(n) ? 'permanent' : 'auth_failed';
  const history = {
    id: `call-${n}`,
    reason,
    message: 'no',
    at: '2026-01-01T00:00:00.000Z',
    upstream: 'feishu',
    attempts: [],
  };
  const header = (name: string, text: string) => [name, Buffer.from(text)] as const;
  return {
    key: Buffer.from(`key-${n % 97}`),
    value: Buffer.from(JSON.stringify({ id: `call-${n}`, path: '/open-apis/im/v1/messages', body: { n } })),
    headers: [
      header('x-request-id', `r-${n}`),
      header(deadLetterHeaders.reason, reason),
      header(deadLetterHeaders.class, 'permanent'),
      header(deadLetterHeaders.origin, `c/calls/0/${n}/1`),
      header(deadLetterHeaders.attempts, '1'),
      header(deadLetterHeaders.history, JSON.stringify(history)),
    ],
  };
}

describeWithServices('a redrive of dead letters', (brokers, redisUrl) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  const reader = new KafkaReader({
    client: kafka.client,
    prefix: kafka.prefix,
    logger: kafka.logger,
    timers: systemTimers,
  });
  let redis: { connection: RedisConnection; claims: RedisClaimStore };
  let config = '';

  beforeAll(async () => {
    redis = await openClaims(redisUrl);
    config = files.write(
      `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: '${kafka.prefix}', group: '${kafka.prefix}worker' }
redis: { url: '${redisUrl}', keyPrefix: '${kafka.prefix}' }
apps: [{ id: cli_a, secret: s }]
`,
    );
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const records = Array.from({ length: all }, (_, n) => deadLetter(n));
    for (let from = 0; from < all; from += 2_000) await kafka.write('dead-letters', records.slice(from, from + 2_000));
  }, 180_000);
  afterAll(async () => {
    await kafka.close();
    redis.claims.close();
    await redis.connection.close();
    files.remove();
  });

  function larkspur(...args: string[]): { child: ChildProcess; ended: Promise<{ code: number | null; out: string }> } {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'src/cli/main.ts', 'dead-letters', ...args, '--config', config, '--json'],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    return { child, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, out }))) };
  }
  const calls = (): Promise<InRecord[]> => firstValueFrom(reader.scan('calls').pipe(toArray()));
  const sent = async (): Promise<number> =>
    (await only(reader.bounds('calls'))).reduce((sum, { begin, end }) => sum + end - begin, 0);

  it('of a hundred thousand with filter and rate, killed in the middle and resumed: none lost, none acts twice, in order per key', async () => {
    const list = await larkspur('list', '--by', 'reason').ended;
    expect(JSON.parse(list.out)).toMatchObject({ looked: all, groups: [{ count: wanted }, { count: all - wanted }] });

    const first = larkspur('redrive', '--reason', 'permanent', '--rate', '5000', '--run', 'killed');
    await expect.poll(sent, { timeout: 120_000, interval: 100 }).toBeGreaterThan(wanted / 4);
    first.child.kill('SIGKILL');
    await first.ended;
    const atKill = await sent();
    expect(atKill).toBeLessThan(wanted);

    const resumed = await larkspur('redrive', '--resume', 'killed', '--rate', '1000000').ended;
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.out)).toMatchObject({ state: 'finished', left: 0 });

    const records = await calls();
    const numbers = records.map(({ value }) => (JSON.parse(String(value)) as { body: { n: number } }).body.n);
    expect(new Set(numbers).size).toBe(wanted);
    expect(numbers.every(isWanted)).toBe(true);
    // What was under way and what half a second's commit had not told yet.
    expect(records.length - wanted).toBeLessThan(8_000);

    const lastOfKey = new Map<string, number>();
    const known = new Set<number>();
    for (const [at, { key }] of records.entries()) {
      const n = numbers[at]!;
      if (known.has(n)) continue;
      known.add(n);
      expect(n).toBeGreaterThan(lastOfKey.get(String(key)) ?? -1);
      lastOfKey.set(String(key), n);
    }
    const one = records[0]!;
    const original = deadLetter(numbers[0]!);
    expect([one.key, one.value, headerText(one.headers, 'x-request-id')]).toEqual([
      original.key,
      original.value,
      `r-${numbers[0]!}`,
    ]);
    expect(roundOf(one)).toBe(1);

    // As workers would: the claim lets each of them act once, and a call that has succeeded not at all.
    const asks = records.map((record, at) => {
      const id = `${kafka.prefix}call-${numbers[at]!}`;
      const request = { id, origin: `c/calls/${record.partition}/${record.offset}`, leaseMs: 60_000, ttlMs: 60_000 };
      return redis.claims.claim({ ...request, sent: true, round: roundOf(record) });
    });
    const replies = await firstValueFrom(from(asks).pipe(mergeAll(1_000), toArray()));
    expect(replies.filter(({ kind }) => kind === 'granted')).toHaveLength(wanted);
  }, 480_000);
});
