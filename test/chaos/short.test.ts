import { expect, it } from 'vitest';

import type { Report } from '../../src/runtime/report.ts';
import { describeWithServices } from '../support/services/provided.ts';

import type { Settings } from './scenario.ts';
import { drainWorker } from './scenarios/drain-worker.ts';
import { hangUpstream } from './scenarios/hang-upstream.ts';
import { killWorker } from './scenarios/kill-worker.ts';

const longMs = 600_000;

function expectPass(report: Report): void {
  // The text names every bar, and which one failed.
  expect(report.pass ? '' : JSON.stringify(report, undefined, 1)).toBe('');
}

// Few calls; the long forms are `npm run chaos -- kill|hang|drain`.
describeWithServices('workers as processes of their own', (brokers, redisUrl) => {
  const settings: Settings = {
    calls: 3_000,
    keys: 500,
    records: 30_000,
    hangSeconds: 10,
    services: { brokers, redisUrl },
    tell: () => undefined,
  };

  it(
    'G1 G2 G3: a worker killed twice in mid-run loses nothing, doubles nothing and keeps the order of each key',
    async () => {
      expectPass(await killWorker(settings));
    },
    longMs,
  );

  it(
    'G1 G2 G3: a worker that drains in mid-flight ends with 0, and the other one takes over at once',
    async () => {
      expectPass(await drainWorker(settings));
    },
    longMs,
  );

  it(
    'G6 G7: behind a hanging upstream records wait in bounded memory, and calls flow again by themselves',
    async () => {
      expectPass(await hangUpstream(settings));
    },
    longMs,
  );
});
