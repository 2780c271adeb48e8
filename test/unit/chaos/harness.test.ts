import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import * as faults from '../../chaos/world/faults.ts';
import { askTwice } from '../../chaos/world/processes.ts';
import type { World } from '../../chaos/world/world.ts';
import { Child } from '../../support/services/child.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-harness-'));
afterAll(() => rmSync(folder, { recursive: true }));
const sh = (script: string): Child => new Child('sh', ['-c', script], join(folder, 'sh.log'));

describe('a process of a scenario', () => {
  it('that ended by itself is told from one that was ended, also when it is ended afterwards', async () => {
    const [crashed, ended] = [sh('exit 1'), sh('sleep 60')];
    await crashed.ended();
    expect([crashed.endedByItself, ended.endedByItself]).toEqual([true, false]);
    await Promise.all([crashed.stop(0), ended.stop(0)]);
    expect([crashed.endedByItself, ended.endedByItself]).toEqual([true, false]);
  });

  it('has not started when it is gone, whoever else answers at its address', async () => {
    const gone = sh('echo the port is taken; exit 1');
    await gone.ended();
    await expect(gone.untilReady(() => Promise.resolve(true), 1_000)).rejects.toThrow('the port is taken');
    await gone.stop(0);
  });

  it('is asked once more when its connection broke, and not when it is gone or silent', async () => {
    const asked = async (running: boolean, ...errors: readonly Error[]): Promise<number> => {
      let times = 0;
      const answer = askTwice({ running }, () => {
        const error = errors[times++];
        return error === undefined ? Promise.resolve(true) : Promise.reject(error);
      });
      await answer.catch(() => undefined);
      return times;
    };
    const broke = new TypeError('fetch failed');

    expect(await asked(true)).toBe(1);
    expect(await asked(true, broke)).toBe(2);
    expect(await asked(true, broke, broke)).toBe(2);
    expect(await asked(false, broke)).toBe(1);
    expect(await asked(true, new DOMException('too long', 'TimeoutError'))).toBe(1);
  });
});

it.each([
  faults.killWorker(0),
  faults.drainWorker(0),
  faults.freezeWorker(0, 0),
  faults.restartBroker,
  faults.killBroker(0),
  faults.freezeBroker(0),
  faults.stutterBroker(0),
  faults.stutterRedis(0),
  faults.killRedis(0),
  faults.freezeRedis(0),
  faults.flushRedis,
  faults.cut('kafka', 'silence', 0),
  faults.isolate(0),
  faults.slow('redis', 1, 0),
])('a fault that finds nothing to hurt is refused: $name', (fault) => {
  const empty = { workers: [], broker: undefined, redis: undefined, links: undefined } as unknown as World;
  expect(() => fault.begin(empty)).toThrow('of its own to hurt');
});
