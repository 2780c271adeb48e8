import fc from 'fast-check';
import { expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { samplesOn } from '../../../../src/runtime/chaos/metric-text.ts';

const word = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('a\nb', '\\n', '\\', '"', '}', 'x"} 5', '\r', '\u2028'),
);

it('what a page says of labels is read as it was counted, whatever stands in them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(word, { minLength: 1, maxLength: 5 }), async (words) => {
      const metrics = createMetrics({ processMetrics: false });
      const counter = metrics.counter('some_total', 'Some', ['path', 'upstream']);
      for (const [index, path] of words.entries()) counter.add({ path, upstream: 'news' }, index + 1);
      const read = [...samplesOn(await metrics.text()).samples('some_total')];
      expect(read).toEqual(words.map((path, index) => [{ path, upstream: 'news' }, index + 1]));
    }),
  );
});
