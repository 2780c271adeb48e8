import { toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { Event } from '../../../src/model/event.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';

const yaml = `
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: k1, previousEncryptKey: k0, verificationToken: vt }]
`;

describe('events through a process with its embedded store', () => {
  it('each event of both schemas once, in the order of its chat, with a third delivered twice', async () => {
    const sandbox = await createSandbox();
    const files = new ConfigFiles();
    const served = await serve(files.load(yaml).config, [], { worker: false, ingress: true });
    files.remove();
    const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'k0', verificationToken: 'vt' };

    expect(await sandbox.sendChallenge(target)).toMatchObject({ proved: true });
    const report = await sandbox.sendEvents({ target, events: 300, chats: 20, duplicates: 0.33, schema: 'both' });
    const records = await only(served.stores.tail('events', 10_000).pipe(toArray()));
    await served.stop();
    await sandbox.close();

    expect(report).toMatchObject({ events: 300, taken: 300, givenUp: 0, byStatus: { 200: 300 + report.duplicates } });
    expect(report.duplicates).toBeGreaterThan(50);
    const arrived: Record<string, string[]> = {};
    for (const { key, value } of records) {
      (arrived[String(key)] ??= []).push((JSON.parse(String(value)) as Event).id);
    }
    expect(arrived).toEqual(report.ids);
  });
});
