import type { HealthProbe } from '../../ports/health-probe.ts';

/** The probe of a plain upstream. */
export interface HttpProbeOptions {
  /** Path of the upstream's base URL, without a trailing slash. */
  readonly pathPrefix: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Status of a good answer. */
  readonly expect: number;
  readonly withinMs: number;
}

/** A GET that is good when it answers with the expected status. */
export function httpProbe({ pathPrefix, path, headers, expect, withinMs }: HttpProbeOptions): HealthProbe {
  const lowerCased = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    request: { method: 'GET', path: pathPrefix + path, headers: lowerCased, body: undefined },
    withinMs,
    fault: ({ status }) => (status === expect ? undefined : `HTTP ${status} instead of ${expect}`),
  };
}
