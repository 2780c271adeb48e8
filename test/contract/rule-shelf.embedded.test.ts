import { MemoryRuleShelf } from '../../src/adapters/embedded/rule-shelf.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { ruleShelfSuite } from './rule-shelf.suite.ts';

ruleShelfSuite('embedded', () => {
  const time = new VirtualTime();
  return Promise.resolve({
    shelf: new MemoryRuleShelf(time),
    wait: (ms) => {
      time.advance(ms);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});
