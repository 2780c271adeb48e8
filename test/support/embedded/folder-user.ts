// A process that uses a data folder, for tests that kill it: `folder-user.ts FOLDER hold|write`.
// Prints `open` or the error as JSON, then, when it writes, one line `OFFSET FENCE` per acknowledged record and claim.
import { forkJoin } from 'rxjs';

import { openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import { LarkspurError } from '../../../src/model/errors.ts';
import type { Logger } from '../../../src/ports/logger.ts';

const [folder = '', what] = process.argv.slice(2);
const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const loud: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields) => void print(`log ${JSON.stringify(fields)}`),
  child: () => loud,
};

try {
  const topics = [{ name: 'calls', partitions: 1 }];
  const machine = { clock: systemClock, timers: systemTimers, logger: loud };
  const { sink, claims } = openEmbedded({ data: folder, ...machine, topics });
  print('open');
  if (what === 'write') {
    const value = Buffer.alloc(2_000, 'x');
    const claim = { origin: 'o', leaseMs: 600_000, ttlMs: 600_000, sent: false };
    const writeNext = (lane: number, n: number): void => {
      forkJoin([
        sink.append({ topic: 'calls', key: null, value, headers: [] }),
        claims.claim({ id: `${lane}-${n}`, ...claim }),
      ]).subscribe({
        next: ([ack, reply]) => {
          if (ack.kind === 'written' && reply.kind === 'granted') print(`${ack.offset} ${lane}-${n}`);
          writeNext(lane, n + 1);
        },
        error: (error: unknown) => {
          throw error;
        },
      });
    };
    // Ten at a time, so that the kill falls between, before and inside transactions.
    for (let lane = 0; lane < 10; lane++) writeNext(lane, 0);
  } else process.stdin.resume().on('end', () => process.exit());
} catch (error) {
  if (!(error instanceof LarkspurError)) throw error;
  print(JSON.stringify({ code: error.code, message: error.message, cure: error.cure }));
}
