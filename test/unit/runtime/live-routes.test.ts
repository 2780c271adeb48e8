import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, describe, expect, it, vi } from 'vitest';

import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { RouteSpec } from '../../../src/model/route.ts';
import type { Route } from '../../../src/ports/route.ts';
import { LiveRoutes } from '../../../src/runtime/live-routes.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-handlers-'));
const files = new ConfigFiles();
afterAll(() => {
  rmSync(folder, { recursive: true });
  files.remove();
});

const event = { type: 'greeting', header: {}, event: {} } as never;

/** A route to a module that takes so long. */
function specs(name: string, ms: number): readonly RouteSpec[] {
  const module = join(folder, `${name}.mjs`);
  writeFileSync(module, `export default () => new Promise((done) => setTimeout(() => done('${name}'), ${ms}));`);
  return files.load(`
apps: [{ id: cli_a, secret: s }]
routes: [{ on: '*', name: ${name}, handler: ${pathToFileURL(module).pathname}, timeoutMs: 20000 }]
`).config.routes;
}

const routeOf = (live: LiveRoutes): Route => (live.routesFor(event) as readonly Route[])[0]!;

describe('routes that are replaced again and again', () => {
  it('are let go, with what they hold', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const live = new LiveRoutes(specs('first', 0), systemTimers, systemClock);
    expect(await only(routeOf(live).act(event, 'c-1'))).toMatchObject({ kind: 'done', answer: 'first' });
    const first = new WeakRef(routeOf(live));
    for (let i = 0; i < 3; i++) live.prepare(specs(`next-${i}`, 0))();

    await vi.waitFor(() => {
      collect();
      expect(first.deref() === undefined).toBe(true);
    });
    await live.close();
  });

  it('end what they have begun, and are closed with the others while they are at it', async () => {
    const live = new LiveRoutes(specs('slow', 10_000), systemTimers, systemClock);
    const running = only(routeOf(live).act(event, 'c-1'));
    for (let i = 0; i < 3; i++) live.prepare(specs(`later-${i}`, 0))();
    await live.close();

    expect(await running).toMatchObject({ kind: 'failed', message: expect.stringContaining('was stopped') as string });
  });
});
