import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { sendTraffic } from '../../../src/sandbox/events/traffic.ts';
import { machineClock, machineTimers, seeded } from '../../../src/sandbox/world-ports.ts';

const world = { clock: machineClock, timers: machineTimers, random: seeded(1) };

it('traffic is over when its second deliveries are, too: all of them are in the report', async () => {
  const seen = new Set<unknown>();
  let repeats = 0;
  const links = {
    async deliver(_app: string, body: unknown) {
      const { event_id: id } = (body as { header: { event_id: string } }).header;
      // The first is one at the same moment, for those are sent before anything is answered.
      if (seen.has(id) && repeats++ === 0) await sleep(100);
      seen.add(id);
      return { code: 200, data: '{}' };
    },
  };
  const target = { urls: ['http://127.0.0.1:1'], app: 'cli_a1', over: 'long-connection' } as const;
  const report = await sendTraffic({ target, events: 20, chats: 20, duplicates: 1 }, world, undefined, links);
  expect(report).toMatchObject({ taken: 20, duplicates: 20, deliveries: 40, byStatus: { 200: 40 } });
});
