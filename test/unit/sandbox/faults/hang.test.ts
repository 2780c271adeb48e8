import { expect, it, vi } from 'vitest';

import type { FaultRule } from '../../../../src/sandbox/faults/fault-rule.ts';
import { bench } from '../client.ts';

const late: FaultRule = { kind: 'hang', delayMs: 5_000, actsLate: true, match: { path: '/open-apis', times: 1 } };

it('a hang that acts late holds up a refusal, too', async () => {
  const b = await bench();
  b.sandbox.setFaults([late]);
  let answered = false;
  const reply = b.send('', 1).finally(() => (answered = true));
  await vi.waitFor(() => expect(b.time.pending).toBe(1));
  expect(answered).toBe(false);
  b.time.advance(5_000);
  expect((await reply).json.code).toBe(99992402);
});

it('a hang that acts late holds up what is no API: a bot posts at the end of it', async () => {
  const b = await bench();
  b.sandbox.setFaults([late]);
  const body = { msg_type: 'text', content: { text: 'hi' } };
  const reply = b.ask('/open-apis/bot/v2/hook/b-1', { method: 'POST', body });
  await vi.waitFor(() => expect(b.time.pending).toBe(1));
  expect(b.sandbox.bots.posts()).toEqual([]);
  b.time.advance(5_000);
  expect((await reply).json.code).toBe(0);
  expect(b.sandbox.bots.posts()).toHaveLength(1);
});
