import { sharedBreakerBuses } from '../support/shared-breaker-bus.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { breakerBusSuite } from './breaker-bus.suite.ts';

// What tests of the pipeline put in the place of Redis.
breakerBusSuite('the one of tests', () => {
  const time = new VirtualTime();
  const { next } = sharedBreakerBuses();
  const wait = (ms: number): Promise<void> => {
    time.advance(ms);
    return Promise.resolve();
  };
  return { a: next(time), b: next(time), wait };
});
