import { MemoryCancelBus } from '../../src/adapters/embedded/cancel-bus.ts';

import { cancelBusSuite } from './cancel-bus.suite.ts';

cancelBusSuite('in one process', () => {
  const bus = new MemoryCancelBus();
  return { teller: bus, hearer: bus };
});
