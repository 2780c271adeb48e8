import { Pool } from 'undici';

import type { Contestant } from '../offer.ts';

// As such gateways were built: a fixed pool, a thread held for the whole call, clients that lose patience and come again at
// once, whatever they asked for.
const threads = 50;
const patienceMs = 3_000;
const retries = 3;

/** The control: a blocking gateway with a fixed pool of 50. A call waits for a thread, and nobody tells its queue to stop. */
export function oldGateway(upstreamUrl: string): Contestant {
  const pool = new Pool(upstreamUrl, { connections: threads, pipelining: 1 });
  const queue: (() => Promise<void>)[] = [];
  let head = 0;
  let busy = 0;
  let requests = 0;

  const run = async (task: () => Promise<void>): Promise<void> => {
    busy++;
    await task();
    busy--;
    const next = queue[head];
    if (next === undefined) return;
    head++;
    void run(next);
  };
  const onThread = (task: () => Promise<void>): void => {
    if (busy < threads) void run(task);
    else queue.push(task);
  };
  // Resolves with whether the answer came in time. A thread makes the call also when nobody waits for it any more.
  const attempt = (body: string): Promise<boolean> =>
    new Promise((resolve) => {
      const patience = setTimeout(() => resolve(false), patienceMs);
      requests++;
      onThread(async () => {
        const good = await pool.request({ method: 'POST', path: '/', body }).then(
          async (reply) => (await reply.body.dump(), reply.statusCode < 400),
          () => false,
        );
        clearTimeout(patience);
        resolve(good);
      });
    });

  return {
    call: async (n) => {
      const body = JSON.stringify({ n });
      for (let tried = 0; tried <= retries; tried++) if (await attempt(body)) return true;
      return false;
    },
    requests: () => requests,
    // What still waits in the queue is of use to nobody.
    close: () => pool.destroy(),
  };
}
