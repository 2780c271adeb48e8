import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { isOf } from '../../../src/config/profiles.ts';
import { fits } from '../../../src/model/pattern.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { openEventHouse } from '../../support/event-house.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

describe('a pattern', () => {
  it('fits what the same words of a regular expression fit', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 });
    const model = (words: string): RegExp =>
      new RegExp(
        `^${words
          .split('*')
          .map((part) => part.replaceAll('.', '\\.'))
          .join('.*')}$`,
      );
    fc.assert(
      fc.property(pattern, text, (words, name) => fits(words, name) === model(words).test(name)),
      { numRuns: 5_000 },
    );
  });
});

describe('profiles', () => {
  it('name routes that there are, each in one profile', () => {
    const routes = 'routes: [{ name: a, on: x, topic: audit }, { name: b, on: x, topic: audit }]';
    expect(files.mistakes(`${routes}\nprofiles: { p: {}, q: { routes: [c] } }`)).toEqual([
      'profiles.p.routes (FILE:2): is missing: names of routes',
      'profiles.q.routes[0] (FILE:2): is c, which is the name of no route: give the route a name',
    ]);
    expect(files.mistakes(`${routes}\nprofiles: { p: { routes: [a] }, q: { routes: ['*'] } }`)).toEqual([
      'profiles.q.routes (FILE:2): takes the route a, as p does',
    ]);
    expect(files.load('routeTable: { file: t.yaml }\nprofiles: { p: { routes: [c] } }').config.profiles).toEqual({
      p: ['c'],
    });
  });

  it('share the routes out: what no profile takes is for workers without one', () => {
    const profiles = { archive: ['copy-*'], slow: ['scan'] };
    const run = (profile?: string) => ['copy-1', 'scan', 'hello'].filter((route) => isOf(profiles, profile, route));
    expect([run('archive'), run('slow'), run(), run('nobody')]).toEqual([['copy-1'], ['scan'], ['hello'], []]);
  });

  it('that are not configured start no worker', async () => {
    const { config } = files.load(`data: memory\nlisten: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }`);
    await expect(serve(config, [], { worker: true, ingress: false, profile: 'archive' })).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'there is no profile archive',
    });
  });

  it('all run in a process that is alone with its data, each event once for each', async () => {
    const house = await openEventHouse(
      `  - { name: own, on: '*', topic: audit }
  - { name: copy, on: '*', topic: dead-letters }`,
      undefined,
      'profiles: { archive: { routes: [copy] } }',
    );
    const { target, sandbox } = house;
    await sandbox.sendEvents({ target, events: 5 });
    await vi.waitFor(
      async () => {
        expect(await house.records('audit')).toHaveLength(5);
        expect(await house.records('dead-letters')).toHaveLength(5);
      },
      { timeout: 15_000, interval: 50 },
    );
    await house.close();
  });
});
