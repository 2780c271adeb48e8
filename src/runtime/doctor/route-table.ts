import { systemTimers } from '../../adapters/system/clock.ts';
import type { Config, RouteTableConfig } from '../../config/config.ts';
import { readTable } from '../rule-tiers.ts';

import { badFrom, type Finding, ok, warn } from './finding.ts';

const mostShown = 5;

/** Whether the table of routes can be read, and what in it cannot be used. */
export async function tableFindings(config: Config, table: RouteTableConfig): Promise<Finding[]> {
  try {
    const { rules, refused } = await readTable(config, table, systemTimers);
    return [
      ok('routes', `${rules.length} routes in the table`),
      ...refused
        .slice(0, mostShown)
        .map(({ rule, message }) => warn('routes', `${rule}: ${message}`, 'correct it there')),
      ...(refused.length > mostShown
        ? [warn('routes', `${refused.length - mostShown} more are wrong`, 'correct those first')]
        : []),
    ];
  } catch (error) {
    return [badFrom('routes', error, 'correct the section routeTable, or what it names')];
  }
}
