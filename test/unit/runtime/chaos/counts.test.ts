import { expect, it } from 'vitest';

import { between, countsOf, sumOf } from '../../../../src/runtime/chaos/counts.ts';
import { samplesOn } from '../../../../src/runtime/chaos/metric-text.ts';

const page = (live: number, deadLetters: number) => `
larkspur_records_ended_total{upstream="news",ending="result",reason="ok"} ${live}
larkspur_records_ended_total{upstream="news",ending="dead-letter",reason="x"} ${deadLetters}
larkspur_call_seconds_bucket{upstream="news",le="0.5"} ${live}
`;
const looked = (live: number, deadLetters: number) =>
  countsOf(samplesOn(page(live, deadLetters)), (name) => name === 'news');

it('a worker that was restarted counts from 0 and hides nothing of what it and the others have seen since', () => {
  const restarted = between(looked(1_000, 2), looked(50, 5));
  expect(restarted).toMatchObject({ live: 50, deadLetters: 5, withinMs: new Map([[500, 50]]) });
  const steady = between(looked(100, 1), looked(150, 4));
  expect(steady).toMatchObject({ live: 50, deadLetters: 3, withinMs: new Map([[500, 50]]) });
  expect(sumOf([restarted, steady])).toMatchObject({ live: 100, deadLetters: 8, withinMs: new Map([[500, 100]]) });
});
