import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';

import { openStores } from './open-stores.ts';
import type { Stores, WorldParts } from './stores.ts';

/** Opens the stores; `undefined` when another process holds the data folder, most likely our own `up`. */
export function openUnlessHeld(config: Config, parts: WorldParts): Stores | undefined {
  try {
    return openStores(config, parts);
  } catch (error) {
    if (error instanceof LarkspurError && error.code === 'data_folder_locked') return undefined;
    throw error;
  }
}
