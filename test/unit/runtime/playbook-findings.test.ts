import { describe, expect, it } from 'vitest';

import { playbookFindings } from '../../../src/runtime/doctor/playbooks.ts';
import { playbookOf } from '../../support/play-world.ts';

const when = 'when: { metric: value, above: 0 }\n';

describe('the doctor, of playbooks', () => {
  it('says what they look at and how many steps they have', async () => {
    const good = playbookOf(`name: a\n${when}then: [{ isolate: news }, { pause: news, dryRun: true }]`);
    expect(await playbookFindings({ playbooks: [good] })).toEqual([
      { name: 'playbook-a', state: 'ok', message: 'value > 0: 2 steps, 1 of them rehearsed only' },
    ]);
  });

  it('names what they cannot reach, each with its cure', async () => {
    const steps = [
      "scale: { deployment: w, replicas: 2, api: 'http://127.0.0.1:1' }",
      "scale: { command: ['/no/such/program'], replicas: 2 }",
      "alert: { feishu: { webhook: 'http://127.0.0.1:1/hook' }, text: hi }",
    ];
    const playbooks = steps.map((step, n) => playbookOf(`name: p-${n}\n${when}then:\n  - ${step}\n`));
    const found = await playbookFindings({ playbooks });
    expect(found.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'playbook-p-0 bad',
      'playbook-p-1 bad',
      'playbook-p-2 warn',
    ]);
    expect(found.every(({ cure }) => (cure ?? '').length > 10)).toBe(true);
    expect(JSON.stringify(found)).not.toContain('/hook');
  });
});
