import { linkWire } from '../adapters/feishu/link/link-wire.ts';
import {
  type LinkFailure,
  LongConnection,
  type LongConnectionOptions,
} from '../adapters/feishu/link/long-connection.ts';
import type { ReadinessCheck } from '../adapters/http/admin-routes.ts';
import type { Config } from '../config/config.ts';
import type { FeishuDoors } from '../ingress/feishu/doors.ts';

import type { WorldParts } from './stores.ts';

/** The long connections of a process, one for each app that wants one. */
export interface Links {
  /** Whether each is open; one that has been gone for less than a minute still counts. */
  readiness(): readonly ReadinessCheck[];
  /** Ends them for good. */
  stop(): Promise<void>;
}

// Shorter is a connection that comes back by itself.
const toleratedMs = 60_000;

/** Opens them. @param doors take what comes */
export function startLinks({ apps, upstreams }: Config, doors: FeishuDoors, parts: WorldParts): Links {
  const { clock, timers, random, log, metrics } = parts;
  const feishu = Object.values(upstreams).find(({ profile }) => profile === 'feishu');
  const failures = metrics.counter(
    'larkspur_feishu_link_failures_total',
    'Times that a long connection was not there, and why',
    ['app', 'why'],
  );
  const links = apps
    .filter(({ longConnection }) => longConnection)
    .map((app) => {
      const options = {
        ...{ app: app.id, clock, timers, random, log },
        wire: linkWire((feishu?.baseUrl ?? '').replace(/\/$/, ''), app),
        take(payload: Buffer, traceId: string | undefined) {
          return doors.take(app.id, payload, traceId);
        },
        failed: (why: LinkFailure) => failures.add({ app: app.id, why }),
      } satisfies LongConnectionOptions;
      const connection = new LongConnection(options);
      connection.start();
      return { app: app.id, connection };
    });
  metrics.gauge('larkspur_feishu_link_open', 'Whether the long connection of an app is open', ['app'], () =>
    links.map(({ app, connection }) => [{ app }, connection.up ? 1 : 0] as const),
  );
  metrics.gauge('larkspur_feishu_link_quiet_seconds', 'Since an event came over it', ['app'], () =>
    links.map(({ app, connection }) => [{ app }, connection.quietMs / 1_000] as const),
  );
  return {
    readiness: () =>
      links.map(({ app, connection: { up, opened, sinceMs } }) => {
        const name = `long connection of ${app}`;
        if (up || (opened && sinceMs < toleratedMs)) return { name, ready: true };
        return { name, ready: false, reason: `Feishu has had no connection for ${Math.round(sinceMs / 1_000)} s` };
      }),
    stop: async () => {
      await Promise.all(links.map(({ connection }) => connection.stop()));
    },
  };
}
