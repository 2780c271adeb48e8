import type { House } from '../pipeline/house.ts';

/** Everything on-call wants to see of a worker, as JSON: partitions, lanes, upstreams with breakers and quota. */
export function statusOf(house: House) {
  const nowMs = house.clock.now();
  return {
    partitions: [...house.partitions.stats()].map(({ partition, distance, watermark }) => ({
      topic: partition.topic,
      partition: partition.partition,
      watermark,
      unfinished: distance,
    })),
    rings: [...house.rings.stats()].map(({ partition, ...ring }) => ({
      topic: partition.topic,
      partition: partition.partition,
      ...ring,
    })),
    lanes: house.lanes.stats(),
    retries: house.instruments.retryHeat.rows(house.clock.wall()),
    claims: house.keeper.size,
    claimStore: { ready: house.claims.ready() },
    upstreams: [...house.destinations.values()].map((destination) => ({
      name: destination.name,
      inFlight: destination.slots.inUse,
      slots: destination.slots.limit,
      waitingForSlot: destination.slots.waiting,
      groups: [...destination.groups].map(([name, { slots }]) => ({
        ...{ name, inFlight: slots.inUse, slots: slots.limit, waitingForSlot: slots.waiting },
      })),
      limits: destination.limiter.snapshot(nowMs),
      quota: destination.limiter.uses(nowMs),
      breakers: [...(destination.breakers?.entries() ?? [])].map(([key, breaker]) => ({
        key,
        ...breaker.snapshot(nowMs),
      })),
    })),
  };
}
