import { describe, expect, it } from 'vitest';

import { Repeats } from '../../../src/pipeline/outcome-lines.ts';
import { news, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const everything = { outcomeLines: { successShare: 1, perSecond: 1_000 } };

const endings = ({ log }: PipelineBench) => log.lines.filter(({ fields }) => fields['outcome'] !== undefined);

describe('the line about how a record has ended', () => {
  it('tells ids, API, attempts, waits, outcome and times of a call, also of one that went well', () => {
    const bench = new PipelineBench({ house: everything });
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 500, body: { code: 1_500 } } : {});
    const trace = ['traceparent', Buffer.from('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')] as const;
    bench.start();
    bench.call(send('m-1', 'oc_1', { tenant: 't_1', priority: 'bulk' }), 'k', [trace]);
    bench.run(5_000);
    expect(endings(bench)).toMatchObject([
      {
        level: 'info',
        fields: {
          at: 'calls/0/0',
          id: 'm-1',
          outcome: 'ok',
          source: 'live',
          upstream: 'feishu',
          api: 'POST /open-apis/im/v1/messages',
          app: 'cli_a',
          tenant: 't_1',
          priority: 'bulk',
          attempts: 2,
          class: 'success',
          status: 200,
          waitedMs: { retry: expect.any(Number) as number },
          traceparent: String(trace[1]),
          totalMs: expect.any(Number) as number,
        },
      },
    ]);
  });

  it('is a warning with the reason for a dead letter, and for what was no call', () => {
    const bench = new PipelineBench({ house: everything });
    bench.upstream('news').script = () => ({ status: 404 });
    bench.start();
    bench.call(news('n-1'), 'k');
    bench.raw(Buffer.from('no json'));
    bench.run(5_000);
    expect(endings(bench)).toMatchObject([
      { level: 'warn', fields: { at: 'calls/0/1', outcome: 'undecodable' } },
      {
        level: 'warn',
        fields: { id: 'n-1', outcome: 'permanent', class: 'permanent', status: 404, why: expect.any(String) as string },
      },
    ]);
  });

  it('is written for the configured share of the calls that went well', () => {
    const bench = new PipelineBench({ house: { outcomeLines: { successShare: 0.2, perSecond: 1 } } });
    bench.start();
    for (let n = 0; n < 1_000; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.run(60_000);
    expect(bench.results).toHaveLength(1_000);
    expect(endings(bench).length).toBeGreaterThan(150);
    expect(endings(bench).length).toBeLessThan(250);
  });

  it('is written so often a second for one kind of failure, and the next one counts what was left out', () => {
    const repeats = new Repeats(3);
    const at = (nowMs: number, kind = 'news permanent') => repeats.leftOut(kind, nowMs);
    expect([at(0), at(1), at(2), at(3), at(999)]).toEqual([0, 0, 0, undefined, undefined]);
    expect(at(500, 'news attempts_exhausted')).toBe(0);
    expect([at(1_000), at(1_001)]).toEqual([2, 0]);
  });
});
