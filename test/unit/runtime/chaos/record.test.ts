import { afterAll, expect, it } from 'vitest';

import { readScenario } from '../../../../src/config/scenario.ts';
import { recordIncident } from '../../../../src/runtime/chaos/record.ts';
import { serve } from '../../../../src/runtime/serve.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../../support/config-file.ts';
import { httpAsk } from '../../../support/http-ask.ts';
import { play } from '../../../support/scenario-file.ts';
import { noLogger } from '../../../support/silent.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

it('S000-97: what a worker went through becomes a scenario, with its policies, and the replay goes well', async () => {
  const sandbox = await createSandbox();
  const loaded = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  news: { baseUrl: '${sandbox.url}/echo', retry: { maxAttempts: 3, baseMs: 10, floorMs: 1 }, fallback: { default: [], afterAttempts: 1 } }
`);
  const served = await serve(loaded.config, [], { worker: true, ingress: true });
  const ingress = Number(new URL(served.ingressUrl ?? '').port);
  const call = (n: number) =>
    httpAsk(ingress, '/v1/calls?wait=3s', {
      method: 'POST',
      body: JSON.stringify({ upstream: 'news', path: `/x/${n}` }),
    });
  const fromMs = Date.now();
  for (let n = 0; n < 10; n++) await call(n);
  sandbox.setFaults([{ kind: '503' }]);
  for (let n = 10; n < 20; n++) await call(n);
  const span = { fromMs, toMs: Date.now() + 1 };
  const request = { name: 'news-away', span, last: 1_000, url: served.adminUrl };

  const text = await recordIncident(loaded, noLogger, request);
  const before = { ...request, span: { fromMs: fromMs - 60_000, toMs: fromMs } };
  await expect(recordIncident(loaded, noLogger, before)).rejects.toMatchObject({ code: 'not_found' });
  await served.stop();
  await sandbox.close();

  const scenario = readScenario(text, 'news-away');
  expect(scenario).toMatchObject({
    name: 'news-away',
    blastRadius: { upstreams: ['news'] },
    upstreams: { news: { retry: { maxAttempts: 3 }, fallback: { default: [] } } },
  });
  // A crowded machine may have added a failure of its own.
  expect(scenario.faults.map(({ rule }) => [rule.kind, rule.match?.upstream])).toContainEqual(['503', 'news']);
  const run = await play(scenario);
  expect([run.bars.filter(({ pass }) => !pass), run.verdict]).toEqual([[], 'confirmed']);
}, 60_000);
