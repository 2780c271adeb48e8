import type { LookupFunction } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { OriginPool } from '../../../src/adapters/http/pools.ts';
import { HttpUpstream } from '../../../src/adapters/http/upstream.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { exchange, get, socketIsFree } from '../adapters/http/servers.ts';

import { serverAt } from './server-at.ts';

/** An upstream by name, whose name can be moved. */
function upstreamByName(port: number, clock: Clock): { upstream: HttpUpstream; moveTo: (address: string) => void } {
  let address = '127.0.0.1';
  const lookup: LookupFunction = (_host, options, found) => {
    if (options.all === true) found(null, [{ address, family: 4 }]);
    else found(null, address, 4);
  };
  const pool = new OriginPool(`http://feishu.test:${port}`, { lookup }, clock);
  onTestFinished(() => pool.close());
  return {
    upstream: new HttpUpstream(pool),
    moveTo: (next) => {
      address = next;
    },
  };
}

describe('an upstream whose name moves to another address', () => {
  it('S000-05: calls reach the new address within 60 s, none fails meanwhile', async () => {
    const clock = new VirtualTime();
    const old = await serverAt('127.0.0.1', 0);
    const next = await serverAt('127.0.0.2', old.port);
    const { upstream, moveTo } = upstreamByName(old.port, clock);
    const answers: string[] = [];
    const call = async (): Promise<void> => {
      const end = await exchange(upstream, get);
      answers.push(end.kind === 'answered' ? end.body.toString() : end.failure);
      await socketIsFree();
    };

    await call();
    moveTo('127.0.0.2');
    // Once a second, so that the old socket never becomes idle.
    for (let second = 1; second <= 60; second++) {
      clock.advance(1_000);
      await call();
    }

    expect(answers.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => '127.0.0.1'));
    expect(answers[60]).toBe('127.0.0.2');
    expect([old.requests(), next.requests()]).toEqual([60, 1]);
  });

  it('S000-05: when the old address is gone at once, the next call already goes to the new one', async () => {
    const clock = new VirtualTime();
    const old = await serverAt('127.0.0.1', 0);
    const next = await serverAt('127.0.0.2', old.port);
    const { upstream, moveTo } = upstreamByName(old.port, clock);
    await exchange(upstream, get);
    moveTo('127.0.0.2');
    await old.close();
    await socketIsFree();

    expect(await exchange(upstream, get)).toMatchObject({ kind: 'answered', body: Buffer.from('127.0.0.2') });
    expect(next.requests()).toBe(1);
  });

  it('S000-05: a name that is not found is tried again, and the call ends well once it is', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ nth }) => (nth < 4 ? { fail: { how: 'dns', sent: false } } : {});
    bench.start();
    bench.call(news('n', { method: 'POST', body: {} }));
    bench.run(60_000);

    expect(bench.results).toMatchObject([{ id: 'n', status: 'ok' }]);
    expect(bench.results[0]?.attempts.map((attempt) => attempt.class)).toEqual([
      'retryable',
      'retryable',
      'retryable',
      'success',
    ]);
  });
});
