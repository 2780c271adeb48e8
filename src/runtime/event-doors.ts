import { randomUUID } from 'node:crypto';

import type { Config } from '../config/config.ts';
import { eventRoutes } from '../ingress/feishu/doors.ts';
import type { HttpRoute } from '../ports/http-route.ts';

import type { Stores, WorldParts } from './stores.ts';

/** The doors of Feishu for the configured apps, on the stores of this process. */
export function eventDoors({ apps, events }: Config, stores: Stores, parts: WorldParts): readonly HttpRoute[] {
  return eventRoutes({
    apps: apps.map((app) => ({
      id: app.id,
      encryptKeys: present(app.encryptKey, app.previousEncryptKey),
      verificationTokens: present(app.verificationToken, app.previousVerificationToken),
    })),
    settings: events,
    sink: stores.sink,
    claims: stores.eventClaims,
    clock: parts.clock,
    timers: parts.timers,
    metrics: parts.metrics,
    process: randomUUID(),
    ready: () => stores.readiness().every(({ ready }) => ready),
  });
}

function present(...texts: readonly (string | undefined)[]): string[] {
  return texts.filter((text) => text !== undefined);
}
