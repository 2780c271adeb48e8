import { afterAll, describe, expect, it } from 'vitest';

import { noMetrics } from '../../../../src/ports/metrics.ts';
import { disturbing, Faults } from '../../../../src/runtime/chaos/fault-desk.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { noLogger } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

function faultsWith(injectFaults: boolean): Faults {
  const { config } = files.load(`{ data: memory, chaos: { injectFaults: ${injectFaults} } }`);
  const time = new VirtualTime();
  return new Faults(config.chaos, {
    ...{ clock: time, timers: time, random: seededRandom(1), log: noLogger, metrics: noMetrics },
  });
}

const disturb = (faults: Faults) => disturbing(faults)([{ kind: '503' }], 60_000, 'playbook x');

describe('a playbook that disturbs', () => {
  it('is refused where calls must never fail on purpose', async () => {
    await expect(disturb(faultsWith(false))).rejects.toMatchObject({
      ...{ code: 'forbidden', message: expect.stringContaining('chaos.injectFaults is not true') as string },
    });
  });

  it('is refused once the process ends, instead of being told that it was done', async () => {
    const faults = faultsWith(true);
    await faults.stop();
    await expect(disturb(faults)).rejects.toMatchObject({ code: 'forbidden' });
  });
});
