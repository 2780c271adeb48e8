/** Room in which the lanes of an upstream wait for one of its slots. */
export const slotsRoom = (destination: string): string => `slots:${destination}`;

/** Room in which lanes wait for an open breaker. */
export const breakerRoom = (destination: string, key: string): string => `breaker:${destination}:${key}`;

/** Room in which lanes wait for quota. */
export const limitRoom = (destination: string, key: string): string => `limit:${destination}:${key}`;
