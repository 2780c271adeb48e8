import { LarkspurError } from '../../model/errors.ts';
import type { Destination } from '../../pipeline/destination.ts';
import type { House } from '../../pipeline/house.ts';
import { breakerRoom } from '../../pipeline/rooms.ts';
import type { LiveConfig } from '../live-config.ts';

import type { Hands } from './actions.ts';

/** What playbooks reach within a process that has a worker. */
export function handsOf(house: House, live: Pick<LiveConfig, 'overlay'> | undefined, disturb: Hands['disturb']): Hands {
  const destinationOf = (upstream: string): Destination => {
    const destination = house.destinations.get(upstream);
    if (destination !== undefined) return destination;
    throw new LarkspurError('not_found', `there is no upstream ${upstream} in this process`);
  };
  return {
    overlay: (playbook, values) => {
      if (live === undefined) {
        throw new LarkspurError('config_invalid', 'this process was not started with a configuration file');
      }
      return live.overlay(`playbook ${playbook}`, values);
    },
    isolate: (upstream, by) => {
      const destination = destinationOf(upstream);
      if (destination.breakers === undefined) {
        throw new LarkspurError('not_found', `${upstream} has no breaker: it is configured off`);
      }
      destination.breakers.hold(by, house.clock.now());
      return () => {
        // Those of now: a changed policy may have brought others.
        destination.breakers?.letGo(by, house.clock.now());
        for (const [key] of destination.breakers?.entries() ?? []) house.lanes.wake(breakerRoom(upstream, key));
      };
    },
    pause: (upstream, by) => {
      destinationOf(upstream);
      house.pauses.pause(upstream, by);
      return () => house.pauses.resume(upstream, by);
    },
    disturb,
  };
}
