import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import type { CancelBus } from '../../src/ports/cancel-bus.ts';
import { only } from '../support/only.ts';

/** What every {@link CancelBus} does. */
export function cancelBusSuite(
  name: string,
  open: () => { readonly teller: CancelBus; readonly hearer: CancelBus },
): void {
  describe(`cancel bus: ${name}`, () => {
    it('tells whoever listens, in order, the id as it was spelled', async () => {
      const { teller, hearer } = open();
      const heard = new Set<string>();
      hearer.onCancel((id) => heard.add(id));
      // Who has just begun to listen may miss what is said at that moment.
      while (!heard.has('first')) await only(teller.tell('first'));
      const ids = ['order-1', 'sim/calls/0/7/1767225600000', '!~"{}'];
      for (const id of ids) expect(await only(teller.tell(id))).toBe(true);
      while (heard.size < 4) await setImmediate();

      expect([...heard]).toEqual(['first', ...ids]);
    });
  });
}
