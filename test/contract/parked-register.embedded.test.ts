import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { systemClock, systemTimers } from '../../src/adapters/system/clock.ts';
import { noLogger } from '../support/silent.ts';

import { parkedRegisterSuite } from './parked-register.suite.ts';

const open = (data: string) =>
  openEmbedded({ data, clock: systemClock, timers: systemTimers, logger: noLogger, topics: [] });

parkedRegisterSuite('memory', () => {
  const house = open('memory');
  const { parked } = house;
  return Promise.resolve({
    register: parked,
    other: parked,
    restarted: () => Promise.resolve(parked),
    close: () => house.close(),
  });
});

parkedRegisterSuite('folder', async () => {
  const data = await mkdtemp(join(tmpdir(), 'larkspur-parked-'));
  let house = open(data);
  return {
    register: house.parked,
    other: house.parked,
    restarted: async () => {
      await house.close();
      house = open(data);
      return house.parked;
    },
    close: async () => {
      await house.close();
      await rm(data, { recursive: true, force: true });
    },
  };
});
