import { describe, expect, it } from 'vitest';

import { AwayLog } from '../../../../src/adapters/redis/away-log.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const demoted = new Error("READONLY You can't write against a read only replica.");

/** A server that has become a replica just now. */
function replica() {
  const time = new VirtualTime();
  const logger = new RememberingLogger();
  const log = new AwayLog(logger, time);
  log.refused('claims');
  log.left(demoted);
  return { time, log, told: () => logger.lines.map(({ message }) => message) };
}

describe('the log of times when Redis is away', () => {
  it('does not take a replica for one that is back, though scripts that only look are carried out, and it is connected to anew', () => {
    const { time, log, told } = replica();
    for (let second = 0; second < 30; second++) {
      time.advance(1_000);
      for (const name of ['get', 'claims']) log.done(name);
      log.refused('claims');
      log.left(demoted);
      if (second % 6 === 0) {
        log.left();
        log.connected();
      }
    }
    expect(told()).toEqual(['Redis is away; what needs it waits']);

    time.advance(5_000);
    log.done('get');
    expect(told()).toHaveLength(1);
    log.done('claims');
    expect(told()).toEqual(['Redis is away; what needs it waits', 'Redis is back']);
  });

  it('takes a later connection for one that is back also where nobody asks again for what was refused', () => {
    const { time, log, told } = replica();
    time.advance(600_000);
    log.left();
    log.connected();
    expect(told().at(-1)).toBe('Redis is back');
  });
});
