import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { noLogger } from '../support/silent.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { entryStoreSuite } from './entry-store.suite.ts';

entryStoreSuite('embedded', () => {
  const time = new VirtualTime();
  const embedded = openEmbedded({ data: 'memory', clock: time, timers: time, logger: noLogger, topics: [] });
  const wait = (ms: number) => {
    time.advance(ms);
    return Promise.resolve();
  };
  return Promise.resolve({ store: embedded.entries, wait, close: () => embedded.close() });
});
