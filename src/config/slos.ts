import { defaultBurnRates, type SloOptions, sloDefaults } from '../operators/slo/slo-tracker.ts';

import type { RawConfig } from './schema.ts';

/** A promise about an upstream or a route. */
export interface SloConfig extends SloOptions {
  /** `upstream/news`, `route/NAME`. */
  readonly name: string;
  /** Of an upstream: a call that takes longer breaks the promise. */
  readonly latencyMs: number | undefined;
}

/** The promises of a complete configuration. @param routeNames of its routes, in their order */
export function compileSlos({ upstreams = {}, routes = [] }: RawConfig, routeNames: readonly string[]): SloConfig[] {
  const ofUpstreams = Object.entries(upstreams).map(([name, { slo }]) => [`upstream/${name}`, slo] as const);
  const ofRoutes = routes.map(({ slo }, index) => [`route/${routeNames[index] ?? ''}`, slo] as const);
  return [...ofUpstreams, ...ofRoutes].flatMap(([name, slo]) => {
    if (slo?.objective === undefined) return [];
    const { windowMs, latencyMs } = sloDefaults;
    return [
      {
        ...{ name, objective: slo.objective, windowMs: slo.windowMs ?? windowMs },
        burnRates: { ...defaultBurnRates(slo.objective), ...slo.burnRates },
        latencyMs: name.startsWith('upstream/')
          ? (('latencyMs' in slo ? slo.latencyMs : undefined) ?? latencyMs)
          : undefined,
      },
    ];
  });
}
