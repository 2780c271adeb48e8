import { afterEach, describe, expect, it } from 'vitest';

import { HandlerThread } from '../../../../src/adapters/routes/handler-thread.ts';
import { systemTimers } from '../../../../src/adapters/system/clock.ts';
import type { EventView } from '../../../../src/model/route.ts';

// Tells how many events were under way with it when it ended; `deadly` ends its thread.
const source = `
let under = 0;
export default async ({ type }) => {
  const most = ++under;
  await new Promise((resolve) => setTimeout(resolve, 30));
  if (type === 'deadly') process.exit(1);
  under--;
  return most;
};`;
const event = (type: string): EventView => ({ type }) as unknown as EventView;

describe('the thread of a handler', () => {
  let thread: HandlerThread | undefined;
  afterEach(() => thread?.close());

  it('runs events one at a time only until the one that kills it is found, also when there are always more', async () => {
    const running = new HandlerThread(`data:text/javascript,${encodeURIComponent(source)}`, 10_000, systemTimers);
    thread = running;
    const deadly = running.run(event('deadly'), 'd');
    const others = Array.from({ length: 20 }, (_, n) => running.run(event('fine'), `c${n}`));
    const first = await deadly;
    expect(first).toMatchObject({ kind: 'failed' });
    // Never idle since: these came while the others were under way.
    const later = Array.from({ length: 20 }, (_, n) => running.run(event('fine'), `l${n}`));
    const acted = await Promise.all([...others, ...later]);
    expect(acted.every(({ kind }) => kind === 'done')).toBe(true);
    const together = acted.map((one) => (one.kind === 'done' ? Number(one.answer) : 0));
    expect(Math.max(...together)).toBeGreaterThan(1);
  });
});
