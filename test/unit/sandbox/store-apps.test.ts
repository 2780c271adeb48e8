import { expect, it } from 'vitest';

import { StoreApps } from '../../../src/sandbox/state/store-apps.ts';
import { Tokens } from '../../../src/sandbox/state/tokens.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

it('a store app gets the token of a tenant for its own token alone, not for one of a tenant or a user', () => {
  let texts = 0;
  const newText = () => `text-${texts++}`;
  const tokens = new Tokens(undefined, 7_200_000, new VirtualTime(), newText);
  const apps = new StoreApps(tokens, newText);
  const ticket = apps.newTicket('cli_s', () => undefined);
  const own = apps.appToken('cli_s', 's', ticket);
  if (typeof own === 'number') throw new Error(`refused: ${own}`);
  const tenant = apps.tenantToken(own.token, 'tenant_1');
  if (typeof tenant === 'number') throw new Error(`refused: ${tenant}`);
  const user = tokens.grant({ id: 'cli_s' }, 'u');

  expect(tenant).toMatchObject({ app: 'cli_s', tenant: 'tenant_1' });
  expect(apps.tenantToken(tenant.token, 'tenant_2')).toBe(10_013);
  expect(apps.tenantToken(user.token, 'tenant_2')).toBe(10_013);
});
