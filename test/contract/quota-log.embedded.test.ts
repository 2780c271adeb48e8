import { MemoryQuotaLog } from '../../src/adapters/embedded/quota-log.ts';
import type { QuotaLogBench } from '../support/quota/quota-bench.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { quotaLearningSuite } from './quota-log-learning.suite.ts';
import { quotaLogSuite } from './quota-log.suite.ts';

function openBench(): Promise<QuotaLogBench> {
  const time = new VirtualTime();
  const log = new MemoryQuotaLog(time, { stretchMs: 0 });
  return Promise.resolve({
    log,
    other: log,
    now: () => time.now(),
    advance(ms) {
      time.advance(ms);
      return Promise.resolve();
    },
    settle: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
}

quotaLogSuite('memory', openBench, 300);
quotaLearningSuite('memory', openBench);
