import { describe, expect, it } from 'vitest';

import { deadLetterHeaders, redriven } from '../../../src/model/dead-letter.ts';
import { headerText, type InRecord, sizeOf } from '../../../src/model/record.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const send = { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body: { receive_id: 'oc_1' } };
const refused = { status: 400, body: { code: 230_002, msg: 'Bot is not in the chat' } };

function refuseFirst(bench: PipelineBench, count: number): void {
  bench.upstream().script = () => (bench.upstream().attempts.length <= count ? refused : {});
}

function append(bench: PipelineBench, record: InRecord): void {
  bench.store.sink.append(redriven(record)).subscribe();
}

describe('a dead letter that is sent again', () => {
  it('goes out once, under the same platform key, however often it is sent', () => {
    const bench = new PipelineBench();
    refuseFirst(bench, 1);
    bench.start();
    bench.call(send, 'k', [['x-team', Buffer.from('a')]]);
    bench.run(1_000);
    const [first] = bench.deadLetters;
    append(bench, first!.record);
    append(bench, first!.record);
    append(bench, first!.record);
    bench.run(1_000);
    expect(bench.upstream().attempts).toHaveLength(2);
    const keys = bench.upstream().attempts.map(({ key }) => key);
    expect(new Set(keys).size).toBe(1);
    expect(bench.results.map(({ status }) => status)).toEqual(['ok', 'duplicate', 'duplicate']);
    expect(new Set(bench.results.map(({ id }) => id))).toEqual(new Set([first!.history.id]));
  });

  it('acts again when its own dead letter is sent, and keeps its bytes and the size of its headers', () => {
    const bench = new PipelineBench();
    refuseFirst(bench, 20);
    bench.start();
    bench.call(send, 'k', [['x-team', Buffer.from('a')]]);
    bench.run(1_000);
    const [first] = bench.deadLetters;
    for (let round = 1; round < 20; round++) {
      append(bench, bench.deadLetters.at(-1)!.record);
      bench.run(10_000);
      const last = bench.deadLetters.at(-1)!.record;
      expect(headerText(last.headers, deadLetterHeaders.round)).toBe(String(round));
      expect(last.value).toEqual(first!.record.value);
      expect(last.key).toEqual(first!.record.key);
      expect(headerText(last.headers, 'x-team')).toBe('a');
      expect(sizeOf(last)).toBeLessThan(sizeOf(first!.record) + 40);
    }
    expect(bench.upstream().attempts).toHaveLength(20);
    append(bench, first!.record);
    bench.run(10_000);
    expect(bench.upstream().attempts, 'the first dead letter has had its try').toHaveLength(20);
  });

  it('is not made again when the call has succeeded meanwhile', () => {
    const bench = new PipelineBench();
    refuseFirst(bench, 1);
    bench.start();
    bench.call({ ...send, id: 'c-1' });
    bench.run(1_000);
    append(bench, bench.deadLetters[0]!.record);
    bench.run(1_000);
    append(bench, bench.deadLetters[0]!.record);
    bench.run(1_000);
    expect(bench.upstream().attempts).toHaveLength(2);
    expect(bench.results.map(({ status }) => status)).toEqual(['ok', 'duplicate']);
  });
});
