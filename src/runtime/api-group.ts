import type { GroupConfig } from '../config/config.ts';
import { Bulkhead } from '../operators/bulkhead/bulkhead.ts';
import type { Destination } from '../pipeline/destination.ts';
import { placesAtDoor, Slots } from '../pipeline/slots.ts';
import type { QuotaLog } from '../ports/quota-log.ts';
import type { Random } from '../ports/random.ts';
import type { Upstream } from '../ports/upstream.ts';

import { budgetsOf } from './budgets.ts';
import { groupPolicies, type Replaceable } from './policies.ts';

/**
 * A group of the APIs of a destination: the same but for what the group has of its own, so what is replaced at the destination later
 * holds here, too.
 * @param upstream over the sockets of the group
 */
export function apiGroup(
  whole: Destination,
  { name, policies }: Pick<GroupConfig, 'name' | 'policies'>,
  upstream: Upstream,
  { processSlots, random, quota }: { readonly processSlots: Slots; readonly random: Random; readonly quota: QuotaLog },
): Destination & Replaceable {
  const widthOf = (): number => group.width.limit;
  const group: Destination & Replaceable = Object.assign(Object.create(whole) as Destination & Replaceable, {
    place: `${whole.name}/${name}`,
    groups: new Map<string, Destination>(),
    upstream,
    ...groupPolicies(policies, whole, random),
    budget: budgetsOf(policies.retry, quota),
    slots: new Slots(widthOf, processSlots),
    working: new Bulkhead({ limit: () => placesAtDoor(widthOf()) }),
  });
  return group;
}
