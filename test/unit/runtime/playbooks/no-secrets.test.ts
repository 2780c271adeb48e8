import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it } from 'vitest';

import { playbookOf, PlayWorld, ran } from '../../../support/play-world.ts';

it('what a variable holds is used by the steps of a playbook, and stands neither on audit, nor in the log, nor on its page', async () => {
  const secret = 'k8s-0123456789';
  const got: string[] = [];
  const receiver = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => got.push(chunk.toString())).on('end', () => response.end());
  });
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const echo = JSON.stringify([process.execPath, '-e', 'console.error(process.argv[1]); process.exit(3)', '${KEY}']);
  const yaml = `name: run
when: { metric: value, above: 0, clearForMs: 0 }
then:
- config: { upstreams.news.fallback.default.body: { key: '\${KEY}', note: plain }, upstreams.news.health.token: plain }
- alert: { http: { webhook: '${url}' }, text: 'ask \${KEY}', link: 'https://runbook.internal/?k=\${KEY}', whenOver: '\${KEY}' }
- disturb: { rules: [{ kind: latency, delayMs: 50, match: { path: '\${KEY}' } }], forMs: 60000 }
  dryRun: false
- scale: { replicas: 8, command: ['${process.execPath}', -e, '0', '\${KEY}'], undoCommand: ${echo} }
- scale: { replicas: 8, command: ${echo} }
`;
  const world = new PlayWorld([playbookOf(yaml, { KEY: secret })]);
  await world.run(1, 1);
  await ran(world);
  await world.run(1, 0);
  const [begun, over] = await ran(world, 2);
  expect(begun).toMatchObject([
    {
      step: 'set upstreams.news.fallback.default.body.key = "${KEY}", upstreams.news.fallback.default.body.note = "plain", upstreams.news.health.token = ***',
      outcome: 'done',
    },
    { step: 'tell an HTTP receiver: "ask ${KEY}" "https://runbook.internal/?k=***"', outcome: 'done' },
    { step: expect.stringContaining('"path":"${KEY}"') as string, outcome: 'done' },
    { step: expect.stringContaining('0 ${KEY} (replicas = 8)') as string, outcome: 'done' },
    { outcome: 'failed', detail: 'the command failed: exit code 3' },
  ]);
  expect(over).toMatchObject([{ outcome: 'not undone' }, {}, {}, {}]);
  expect(got).toHaveLength(2);
  expect(got.join()).toContain(secret);
  expect(world.did.join()).toContain(secret);
  const views = world.playbooks.map((playbooks) => playbooks.views());
  receiver.close();
  expect(JSON.stringify([world.audit, world.log.lines, views])).not.toContain(secret);
});
