import { hostname } from 'node:os';

import { expect, it } from 'vitest';

import { whoAsks } from '../../../src/cli/who.ts';

it('tells user and host, and the number of a user that has no name', () => {
  expect(whoAsks(() => ({ username: 'ana' }))).toBe(`ana@${hostname()}`);
  const nameless = () => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  };
  expect(whoAsks(nameless)).toMatch(new RegExp(String.raw`^uid-(\d+|unknown)@${hostname()}$`));
});
