import { strayRoutesGroups } from '../../model/routes-group.ts';
import type { TopicAdmin } from '../../ports/topic-admin.ts';

import { type Finding, warn } from './finding.ts';

/** Groups of profiles that are there no more, and what they have left. @param group the workers' group */
export async function profileFindings(
  admin: TopicAdmin,
  group: string,
  profiles: readonly string[],
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const name of strayRoutesGroups(await admin.groups(), group, profiles)) {
    const events = (await admin.lag(name, ['events'])).reduce((sum, { lag }) => sum + lag, 0);
    if (events === 0) continue;
    const message = `group ${name} has not read ${events} events, and no profile has it`;
    found.push(warn('profiles', message, 'put the profile back until it has done them, or delete the group'));
  }
  return found;
}
