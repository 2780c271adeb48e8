import { EmbeddedHarness } from '../support/embedded/harness.ts';
import { only } from '../support/only.ts';
import { SourceReader } from '../support/source-reader.ts';

import { topicReaderSuite } from './topic-reader.suite.ts';

topicReaderSuite('embedded', () => {
  const harness = new EmbeddedHarness('memory');
  return Promise.resolve({
    reader: harness.embedded.reader,
    topic: (partitions: number) => harness.topic(partitions),
    write: (topic, records) => harness.write(topic, records),
    commit: async (group, topic, partition, offset) => {
      const { source } = harness.source(group, [topic]);
      const reader = new SourceReader(source);
      await reader.until(() => reader.partitions.some((one) => one.partition === partition));
      await only(source.commit([{ partition: reader.partition(partition), offset, metadata: '' }]));
      reader.unsubscribe();
    },
    close: () => harness.close(),
  });
});
