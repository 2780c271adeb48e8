import { afterAll, expect, it } from 'vitest';

import { policiesOf } from '../../../src/runtime/policies.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

/** Whose token the declared probe of Feishu asks for. */
function askedFor(apps: string): unknown {
  const { config } = files.load(`
tokenKey: ${'k'.repeat(32)}
apps: [${apps}]
upstreams: { feishu: { breaker: { probe: {} } } }
`);
  const { probe } = policiesOf(config.upstreams['feishu']!, config.apps, { next: () => 0 });
  return probe && (JSON.parse(probe.request.body?.toString() ?? '') as { app_id: string }).app_id;
}

it('the declared probe asks for a token of a self-built app: a store app is refused there, and its breaker would stay open', () => {
  const store = '{ id: cli_store, secret: s, kind: store }';

  expect(askedFor(`${store}, { id: cli_own, secret: s }`)).toBe('cli_own');
  // Nobody to ask for: calls themselves find out.
  expect(askedFor(store)).toBeUndefined();
});
