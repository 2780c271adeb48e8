import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import type { ClaimStoreBench } from '../support/claims/claim-bench.ts';
import { noLogger } from '../support/silent.ts';
import { VirtualTime } from '../support/virtual-time.ts';

import { claimStoreSuite } from './claim-store.suite.ts';

function openBench(data: string, cleanUp: () => void): Promise<ClaimStoreBench> {
  const time = new VirtualTime();
  const embedded = openEmbedded({ data, clock: time, timers: time, logger: noLogger, topics: [] });
  return Promise.resolve({
    store: embedded.claims,
    other: embedded.claims,
    advance(ms) {
      time.advance(ms);
      return Promise.resolve();
    },
    close: () => embedded.close().finally(cleanUp),
  });
}

claimStoreSuite('memory', () => openBench('memory', () => undefined), { histories: 1_000 });

claimStoreSuite(
  'LMDB',
  () => {
    const data = mkdtempSync(join(tmpdir(), 'larkspur-claims-'));
    return openBench(data, () => rmSync(data, { recursive: true }));
  },
  { histories: 40 },
);
