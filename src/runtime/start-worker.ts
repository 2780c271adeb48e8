import { setFlagsFromString } from 'node:v8';

import type { Config } from '../config/config.ts';
import type { LarkspurError } from '../model/errors.ts';
import type { InjectedFaults } from '../operators/fault/faulty-upstream.ts';
import { createHouse, type House } from '../pipeline/house.ts';
import { breakerRoom, slotsRoom } from '../pipeline/rooms.ts';
import type { OwnOperator } from '../ports/own-operator.ts';

import { createDestinations } from './destinations.ts';
import { houseOptions } from './house-options.ts';
import { sharedTokens } from './shared-tokens.ts';
import type { Stores, WorldParts } from './stores.ts';
import { type Stopped, Worker } from './worker.ts';

/** A worker with everything that it opened. */
export interface RunningWorker {
  readonly house: House;
  readonly worker: Worker;
  /** Calls to these upstreams are made from now on, too. */
  add(upstreams: Config['upstreams']): void;
  /** Calls to known upstreams follow these policies from their next attempt on. */
  replace(upstreams: Config['upstreams']): void;
  /** Stops the worker in order, then closes its sockets. */
  stop(): Promise<Stopped>;
}

/** Puts a worker together on its stores and starts it. `onFailure` is called once if its stream errors. @param own the modules of `use`, by file URL @param faults what attempts meet on purpose; absent: nothing */
export function startWorker(
  config: Config,
  stores: Stores,
  parts: WorldParts,
  onFailure: (error: LarkspurError) => void,
  own: ReadonlyMap<string, OwnOperator> = new Map(),
  faults?: Pick<InjectedFaults, 'decide'>,
): RunningWorker {
  // Records wait long enough to grow old, and by itself the engine lets old garbage grow to more than what lives. Measured
  // after an outage with 100,000 records behind it: 264 MB resident instead of 405.
  setFlagsFromString('--heap-growing-percent=150');
  const destinations = createDestinations(config, {
    ...parts,
    quota: stores.quota,
    answers: stores.answers,
    own,
    shared: sharedTokens(config, stores, parts),
    ...(faults === undefined ? {} : { faults }),
  });
  const house = createHouse(
    {
      ...parts,
      source: stores.source(),
      sink: stores.sink,
      claims: stores.claims,
      parked: stores.parked,
      destinations: destinations.byName,
      fleet: stores.fleet,
    },
    houseOptions(config.worker),
  );
  stores.cancels.onCancel((id) => house.cancellations.cancel(id));
  const worker = new Worker(house, { drainMs: config.drainMs, onFailure });
  worker.start();
  return {
    house,
    worker,
    add: (upstreams) => {
      for (const destination of destinations.add(upstreams)) house.welcome(destination);
    },
    replace: (upstreams) => {
      for (const { destination, replaced, waiting, breakersBefore } of destinations.replace(upstreams)) {
        const { name } = destination;
        if (replaced.includes('breaker') || replaced.includes('health')) house.breakersChanged(destination);
        if (replaced.includes('concurrency')) {
          // A place that was not there before is given back by nobody, so nobody else wakes those who wait for it.
          destination.slots.widened();
          house.lanes.wake(slotsRoom(name));
        }
        for (const [group, { place, slots }] of destination.groups) {
          if (!replaced.includes(`groups.${group}.concurrency`)) continue;
          slots.widened();
          house.lanes.wake(slotsRoom(place));
        }
        for (const key of breakersBefore) house.lanes.wake(breakerRoom(name, key));
        parts.log.info({ upstream: name, replaced, waiting }, 'an upstream follows its changed policies');
      }
    },
    stop: async () => {
      const stopping = worker.stop();
      await destinations.closeAfter(stopping);
      return stopping;
    },
  };
}
