import type { Config } from '../config/config.ts';
import type { Described } from '../config/describe.ts';

import { adminAddress, askAdmin } from './admin-client.ts';

/** The configuration as a running process has it, with what playbooks have changed. Rejects like {@link askAdmin}. */
export async function askConfig(config: Config, url?: string): Promise<readonly Described[]> {
  const { values } = await askAdmin<{ readonly values: readonly Described[] }>(adminAddress(config, url), {
    path: '/admin/config',
  });
  return values;
}
