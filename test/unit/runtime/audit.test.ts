import { firstValueFrom } from 'rxjs';
import { expect, it } from 'vitest';

import { openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { Audit } from '../../../src/runtime/audit.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

function opened(maxMessageBytes: number) {
  const time = new VirtualTime();
  const log = new RememberingLogger();
  const topics = [{ name: 'audit', partitions: 1, maxMessageBytes }];
  const nextTurn = (task: () => void): void => void time.after(0, task);
  const store = openEmbedded({ data: 'memory', clock: time, timers: time, logger: log, topics, nextTurn });
  const audit = new Audit(store.sink, { clock: time, timers: time, log });
  const written = async (to: string): Promise<boolean> => {
    const done = firstValueFrom(audit.written({ by: 'ana', what: 'config', from: '', to, reason: 'why' }));
    await time.advanceAsync(100);
    return done;
  };
  return { store, log, written };
}

it('a change that is larger than the topic takes stands there with who and why, without its values', async () => {
  const { store, written } = opened(500);
  expect(await written('x'.repeat(1_000))).toBe(true);
  const entry = JSON.parse(String(store.read('audit', 0, 0)?.value)) as Record<string, unknown>;
  expect(entry).toMatchObject({
    by: 'ana',
    what: 'config',
    reason: 'why',
    to: 'left out: larger than the topic takes',
  });
});

it('a change that the topic does not take at all is not called written', async () => {
  const { log, written } = opened(20);
  expect(await written('x')).toBe(false);
  expect(log.lines).toMatchObject([{ level: 'error', fields: { what: 'config' } }]);
});
