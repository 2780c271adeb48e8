import { expect, it } from 'vitest';

import { routesGroup, strayRoutesGroups } from '../../../src/model/routes-group.ts';

it('groups of routes are those of no profile, of profiles, and of profiles that are there no more', () => {
  expect([routesGroup('w'), routesGroup('w', 'archive')]).toEqual(['w-routes', 'w-archive-routes']);
  const groups = ['w', 'w-routes', 'w-archive-routes', 'w-gone-routes', 'w-redrive', 'other-gone-routes'];
  expect(strayRoutesGroups(groups, 'w', ['archive', 'new'])).toEqual(['w-gone-routes']);
});
