import { setTimeout as sleep } from 'node:timers/promises';

import type { Links, World } from './world.ts';

/** Something that goes wrong for a while. */
export interface Fault {
  readonly name: string;
  readonly holdMs: number;
  /** What no other fault may touch at the same time. */
  readonly at: string;
  begin(world: World): unknown;
  end(world: World): unknown;
}

const nothing = (): void => undefined;

/** What a fault hurts. Without it nothing would go wrong, and the scenario show nothing. */
function there<T>(part: T | undefined, what: string): T {
  if (part === undefined) throw new Error(`this run has no ${what} of its own to hurt`);
  return part;
}

/** The worker in that place is killed; another one starts there while the others take over. */
export const killWorker = (place: number): Fault => ({
  name: 'worker killed',
  at: `worker ${place}`,
  holdMs: 0,
  begin: ({ workers }) => there(workers[place], `worker ${place}`).kill9(),
  end: (world) => world.replaceSoon(place),
});

/** The worker in that place is stopped in order, and another one starts there. */
export const drainWorker = (place: number): Fault => ({
  ...killWorker(place),
  name: 'worker drained',
  begin: ({ workers }) => there(workers[place], `worker ${place}`).drain(),
});

/** The worker in that place stands still, and then goes on as if nothing had been. */
export const freezeWorker = (place: number, holdMs: number): Fault => ({
  name: 'worker frozen',
  at: `worker ${place}`,
  holdMs,
  begin: ({ workers }) => there(workers[place], `worker ${place}`).pause(),
  end: ({ workers }) => there(workers[place], `worker ${place}`).resume(),
});

export const restartBroker: Fault = {
  name: 'broker restarted',
  at: 'broker',
  holdMs: 0,
  begin: ({ broker }) => there(broker, 'broker').halt(),
  end: ({ broker }) => there(broker, 'broker').start(),
};

export const killBroker = (holdMs: number): Fault => ({
  name: 'broker killed',
  at: 'broker',
  holdMs,
  begin: ({ broker }) => there(broker, 'broker').kill9(),
  end: ({ broker }) => there(broker, 'broker').start(),
});

export const freezeBroker = (holdMs: number): Fault => ({
  name: 'broker frozen',
  at: 'broker',
  holdMs,
  begin: ({ broker }) => there(broker, 'broker').pause(),
  end: ({ broker }) => there(broker, 'broker').resume(),
});

interface Freezable {
  pause(): void;
  resume(): void;
}

/** A server stands still for most of every half second, as behind a disk that cannot follow: all is slow, nothing is away. */
function stutter(what: 'broker' | 'redis', holdMs: number): Fault {
  const standsMs = 400;
  const goesMs = 100;
  const turns = async (server: Freezable): Promise<void> => {
    const untilMs = Date.now() + holdMs;
    while (Date.now() < untilMs) {
      server.pause();
      await sleep(standsMs);
      server.resume();
      await sleep(goesMs);
    }
  };
  let turning: Promise<void> | undefined;
  return {
    name: `${what} slow, as on a slow disk`,
    at: what,
    holdMs,
    begin: (world) => {
      turning = turns(there(world[what], what));
    },
    end: () => turning,
  };
}

export const stutterBroker = (holdMs: number): Fault => stutter('broker', holdMs);
export const stutterRedis = (holdMs: number): Fault => stutter('redis', holdMs);

/** Without `--appendonly` it comes back empty. */
export const killRedis = (holdMs: number): Fault => ({
  name: 'redis killed',
  at: 'redis',
  holdMs,
  begin: ({ redis }) => there(redis, 'redis').kill9(),
  end: ({ redis }) => there(redis, 'redis').start(),
});

export const freezeRedis = (holdMs: number): Fault => ({
  name: 'redis frozen',
  at: 'redis',
  holdMs,
  begin: ({ redis }) => there(redis, 'redis').pause(),
  end: ({ redis }) => there(redis, 'redis').resume(),
});

/** All claims are forgotten in one moment, those of calls in flight as well. */
export const flushRedis: Fault = {
  name: 'redis flushed',
  at: 'redis',
  holdMs: 0,
  begin: ({ redis }) => there(redis, 'redis').command('FLUSHALL'),
  end: nothing,
};

/** The upstream acts as the rules of the sandbox say. */
export const upstreamFault = (name: string, rules: readonly unknown[], holdMs: number): Fault => ({
  name: `upstream: ${name}`,
  at: 'upstream',
  holdMs,
  begin: ({ sandbox }) => sandbox.faults(rules),
  end: ({ sandbox }) => sandbox.faults([]),
});

/** Nothing passes between the far worker and one of its servers: in silence, or with a reset of every connection. */
export const cut = (link: keyof Links, how: 'silence' | 'break', holdMs: number): Fault => ({
  name: `${link} cut off (${how})`,
  at: `link ${link}`,
  holdMs,
  begin: ({ links }) => there(links, 'links')[link][how](),
  end: ({ links }) => there(links, 'links')[link].heal(),
});

/** The far worker reaches neither its group nor its claims, but its upstream answers: it goes on in good faith. */
export const isolate = (holdMs: number): Fault => ({
  name: 'worker isolated from kafka and redis',
  at: 'links',
  holdMs,
  begin: ({ links }) => {
    const { kafka, redis } = there(links, 'links');
    for (const link of [kafka, redis]) link.silence();
  },
  end: ({ links }) => {
    const { kafka, redis } = there(links, 'links');
    for (const link of [kafka, redis]) link.heal();
  },
});

/** Every answer on that way takes longer, there and back. */
export const slow = (link: keyof Links, delayMs: number, holdMs: number): Fault => ({
  name: `${link} slow by ${2 * delayMs} ms`,
  at: `link ${link}`,
  holdMs,
  begin: ({ links }) => there(links, 'links')[link].slow(delayMs),
  end: ({ links }) => there(links, 'links')[link].heal(),
});
