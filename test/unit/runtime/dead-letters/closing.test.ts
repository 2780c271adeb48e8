import { describe, expect, it } from 'vitest';

import { Cover } from '../../../../src/model/cover.ts';
import { readFilter } from '../../../../src/model/dead-letters/filter.ts';
import { LocalDesk } from '../../../../src/runtime/dead-letters/desk.ts';
import { openStores } from '../../../../src/runtime/open-stores.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { HeldSink } from '../../../support/held-sink.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { noMetrics } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const { filter: all } = readFilter({});

describe('a desk that closes', () => {
  it('waits ten seconds at most for the last record of a redrive, and names what it left', async () => {
    const time = new VirtualTime();
    const log = new RememberingLogger();
    const parts = { clock: time, timers: time, random: seededRandom(1), log, metrics: noMetrics };
    const files = new ConfigFiles();
    const stores = openStores(files.load('data: memory').config, parts);
    files.remove();
    const sink = new HeldSink(stores.sink);
    const desk = new LocalDesk({ ...stores, sink }, parts, new Cover());
    sink.hold();
    desk.redrive({ run: 'r1', filter: all, perSecond: 10, who: 'ana' }).subscribe();
    let closed = false;
    const closing = desk.close().then(() => (closed = true));
    time.advance(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    time.advance(1);
    await closing;
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { runs: ['r1'] } });
    await stores.close();
  });
});
