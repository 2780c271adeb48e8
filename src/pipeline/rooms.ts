/** Room in which lanes wait for a slot of an upstream, or of a group of its APIs. */
export const slotsRoom = (place: string): string => `slots:${place}`;

/** Room in which lanes wait for an open breaker. */
export const breakerRoom = (destination: string, key: string): string => `breaker:${destination}:${key}`;

/** Room in which lanes wait for quota. */
export const limitRoom = (destination: string, key: string): string => `limit:${destination}:${key}`;

/** Room in which those wait for quota that can go together. */
export const batchRoom = (destination: string, key: string, shape: string): string =>
  `${limitRoom(destination, key)}\n${shape}`;

/** Room in which bulk calls wait for their second after a full or half hour. */
export const halfHourRoom = (destination: string, slot: number): string => `half-hour:${destination}:${slot}`;

/** The rooms of an upstream's calls. */
export interface Rooms {
  readonly slots: string;
  readonly breaker: string;
}

const known = new WeakMap<object, Map<string, Rooms>>();

/** The rooms of calls with that breaker, the same strings each time: lanes look rooms up by them several times per call. */
export function roomsOf(destination: { readonly name: string; readonly place: string }, breakerKey: string): Rooms {
  let byKey = known.get(destination);
  if (byKey === undefined) known.set(destination, (byKey = new Map<string, Rooms>()));
  let rooms = byKey.get(breakerKey);
  if (rooms === undefined) {
    const { name, place } = destination;
    byKey.set(breakerKey, (rooms = { slots: slotsRoom(place), breaker: breakerRoom(name, breakerKey) }));
  }
  return rooms;
}

/** Where those wait whose lane is full, until fewer are on their way out. */
export const leavingRoom = 'leaving';

/** Where what is left of a cancelled call waits for its end. */
export const cancelledRoom = (id: string): string => `cancelled:${id}`;
