import { Pool } from 'undici';

import type { Taker } from '../isolation/traffic.ts';

// As such gateways were built: one pool of threads for all, each held for a whole call; no breaker, no budget, three blind
// retries; a client that loses patience after three seconds.
const threads = 200;
const retries = 3;
const patienceMs = 3_000;

/** The control: one gateway for all upstreams, without walls between them. */
export function oldGateway(url: string): Taker & { readonly close: () => Promise<void> } {
  const pool = new Pool(url, { connections: threads, pipelining: 1 });
  const queue: (() => void)[] = [];
  let head = 0;
  let busy = 0;
  const free = (): void => {
    busy--;
    queue[head++]?.();
  };
  const thread = (): Promise<void> =>
    new Promise((resolve) => {
      const take = (): void => {
        busy++;
        resolve();
      };
      if (busy < threads) take();
      else queue.push(take);
    });
  const once = async (path: string): Promise<boolean> => {
    await thread();
    try {
      const reply = await pool.request({ method: 'GET', path, signal: AbortSignal.timeout(1_000) });
      await reply.body.dump();
      return reply.statusCode < 400;
    } catch {
      return false;
    } finally {
      free();
    }
  };
  const all = async (path: string): Promise<string> => {
    for (let tried = 0; tried <= retries; tried++) if (await once(path)) return 'live';
    return 'none';
  };
  return {
    call: (upstream, n) => {
      const late = new Promise<string>((resolve) => setTimeout(() => resolve('none'), patienceMs));
      return Promise.race([all(`/${upstream}/items/${n % 50}`), late]);
    },
    isOpen: () => false,
    close: () => pool.destroy(),
  };
}
