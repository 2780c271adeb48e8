import { hostname, userInfo } from 'node:os';

import { expect, it, vi } from 'vitest';

import { whoAsks } from '../../../src/cli/who.ts';

vi.mock('node:os', async (original) => ({ ...(await original<object>()), userInfo: vi.fn() }));

it('tells user and host, and the number of a user that has no name', () => {
  vi.mocked(userInfo).mockReturnValueOnce({ username: 'ana' } as ReturnType<typeof userInfo>);
  expect(whoAsks()).toBe(`ana@${hostname()}`);
  vi.mocked(userInfo).mockImplementationOnce(() => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  });
  expect(whoAsks()).toMatch(new RegExp(String.raw`^uid-(\d+|unknown)@${hostname()}$`));
});
