import { fits } from '../model/pattern.ts';

import type { Report } from './not-above.ts';
import type { RawConfig } from './schema.ts';

/** Rules between profiles and routes: a route runs in one place. */
export function profileRules({ profiles = {}, routes = [], routeTable }: RawConfig, report: Report): void {
  const names = routes.flatMap(({ name }) => name ?? []);
  for (const [profile, { routes: patterns }] of Object.entries(profiles)) {
    const at = ['profiles', profile, 'routes'];
    if (patterns === undefined) {
      report(at, 'is missing: names of routes');
      continue;
    }
    for (const [index, pattern] of patterns.entries()) {
      // What a table holds is not known here.
      if (routeTable !== undefined || names.some((name) => fits(pattern, name))) continue;
      report([...at, index], `is ${pattern}, which is the name of no route: give the route a name`);
    }
  }
  for (const name of names) {
    const takers = Object.entries(profiles).filter(([, own]) => own.routes?.some((pattern) => fits(pattern, name)));
    const [, second] = takers;
    if (second !== undefined)
      report(['profiles', second[0], 'routes'], `takes the route ${name}, as ${takers[0]?.[0] ?? ''} does`);
  }
}

/**
 * Whether a route is run by workers of a profile; without one by those that run what no profile takes.
 * @param profiles patterns by name
 */
export function isOf(
  profiles: Readonly<Record<string, readonly string[]>>,
  profile: string | undefined,
  route: string,
): boolean {
  const taken = (patterns: readonly string[]): boolean => patterns.some((pattern) => fits(pattern, route));
  if (profile !== undefined) return taken(profiles[profile] ?? []);
  return !Object.values(profiles).some(taken);
}
