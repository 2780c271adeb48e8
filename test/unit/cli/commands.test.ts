import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readScenario } from '../../../src/config/scenario.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ended, larkspur, startLarkspur } from '../../support/command-line.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-commands-'));
const files = new ConfigFiles();
afterAll(() => {
  files.remove();
  rmSync(folder, { recursive: true });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** What a command printed with `--json`: one object on one line, and nothing else. */
function objectOf({ out }: Ended): Record<string, unknown> {
  expect(out).toMatch(/^\{.*\}\n$/);
  return JSON.parse(out) as Record<string, unknown>;
}

/** A scenario of a second; its hypothesis is that at least so many faults hit. */
const scenario = (faults: number): string => `
name: news-away-${faults}
hypothesis: While news answers 503 its readers get the declared answer.
blastRadius: { upstreams: [news] }
upstreams: { news: { retry: 'off', fallback: { default: [], afterAttempts: 1 } } }
load: { calls: 20, perSecond: 40 }
faults: [{ kind: '503' }]
expect: [{ figure: faults, atLeast: ${faults} }]
`;

describe('larkspur chaos', () => {
  const ledger = join(folder, 'runs.jsonl');

  it('run ends with 0 if the hypothesis held, else with 1, each time with one object; report tells both', async () => {
    const held = await larkspur(...['chaos', 'run', file('held.yaml', scenario(1))], '--json', '--ledger', ledger);
    expect([held.code, objectOf(held)]).toMatchObject([0, { pass: true, scenario: 'news-away-1' }]);
    const not = await larkspur(...['chaos', 'run', file('not.yaml', scenario(999))], '--json', '--ledger', ledger);
    expect([not.code, objectOf(not)]).toMatchObject([1, { pass: false, figures: { verdict: 'refuted' } }]);

    const report = await larkspur('chaos', 'report', '--json', '--ledger', ledger);
    expect([report.code, objectOf(report)]).toMatchObject([
      0,
      { runs: [{ scenario: 'news-away-999' }, { scenario: 'news-away-1' }] },
    ]);
    expect(JSON.stringify(objectOf(report)['findings'])).toContain('faults was ');
  }, 60_000);

  it.each([
    [
      'run',
      [join(folder, 'none.yaml'), '--json'],
      /^error: .*none\.yaml cannot be read.*\ncure: name a scenario file/s,
    ],
    ['report', ['--days', 'few', '--json'], /^error: --days must be a whole number/],
    ['proxy', ['--rules', file('rules.yaml', '[]'), '--port', '70000', '--json'], /^error: --port must be 0 to 65535/],
  ])(
    '%s ends with 1 and prints no object for a mistake: %j',
    async (command, args, error) => {
      const { code, out, err } = await larkspur('chaos', command, ...args);
      expect([code, out]).toEqual([1, '']);
      expect(err).toMatch(error);
    },
    60_000,
  );

  it('proxy prints its address as one object, answers by its rules, and ends in order when it is told to', async () => {
    const rules = file('teapot.yaml', "- { kind: '503' }");
    const child = startLarkspur('chaos', 'proxy', '--rules', rules, '--port', '0', '--json');
    const ended = once(child, 'close');
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const { status } = await httpAsk(Number(new URL(url).port), '/x', { headers: { host: 'news.internal' } });
    child.kill('SIGTERM');
    expect([status, (await ended)[0]]).toEqual([503, 0]);
  }, 60_000);
});

describe('larkspur config show --url', () => {
  it('shows what a process has that was started without a file, beside the sandbox', async () => {
    const child = startLarkspur(
      ...'up --with-sandbox --data memory --ingress 127.0.0.1:0 --admin 127.0.0.1:0'.split(' '),
    );
    const ended = once(child, 'close');
    let admin: string | undefined;
    for await (const line of createInterface(child.stdout)) {
      admin = /metrics +GET +(http:\/\/[^/]+)/.exec(line)?.[1];
      if (admin !== undefined) break;
    }
    const { out } = await larkspur('config', 'show', '--url', admin ?? '', '--json').finally(() =>
      child.kill('SIGTERM'),
    );
    const lines = JSON.parse(out) as { path: string; value: string; source: string }[];
    const shown = (path: string) => lines.find((line) => line.path === path);

    expect(shown('data')).toMatchObject({ value: '"memory"', source: 'flag --data' });
    expect(shown('adminToken')).toMatchObject({ value: '***', source: 'env LARKSPUR_ADMIN_TOKEN' });
    expect(shown('worker.inFlight')).toMatchObject({ value: '256', source: 'default' });
    const byFlag = { source: 'flag --with-sandbox' };
    expect(shown('apps[0].id')).toMatchObject({ value: '"cli_sandbox"', ...byFlag });
    expect(shown('apps[0].secret')).toMatchObject({ value: '***', ...byFlag });
    expect(shown('upstreams.feishu.baseUrl')).toMatchObject({
      value: expect.stringMatching(/^"http:\/\/127\.0\.0\.1:\d+"$/) as string,
      ...byFlag,
    });
    expect((await ended)[0]).toBe(0);
  }, 60_000);
});

describe('commands that ask a worker', () => {
  let sandbox: Sandbox;
  let served: Served;
  let asked: readonly string[];
  const span = { from: '', called: '', to: '' };
  beforeAll(async () => {
    sandbox = await createSandbox();
    const yaml = `
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams: { news: { baseUrl: '${sandbox.url}/echo', retry: 'off', slo: { objective: 0.99 } } }
`;
    served = await serve(files.load(yaml).config, [], { worker: true, ingress: true });
    span.from = new Date(Date.now() - 1_000).toISOString();
    sandbox.setFaults([{ kind: '503' }]);
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    for (let n = 0; n < 10; n++) {
      const body = JSON.stringify({ upstream: 'news', path: `/x/${n}` });
      await httpAsk(ingress, '/v1/calls?wait=3s', { method: 'POST', body });
      if (n === 0) span.called = new Date().toISOString();
    }
    span.to = new Date(Date.now() + 1_000).toISOString();
    asked = ['--url', served.adminUrl, '--config', file('none.yaml', 'data: memory')];
  }, 60_000);
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('chaos record prints a scenario that can be run, and ends with 1 for a time in which nothing failed', async () => {
    const recorded = await larkspur('chaos', 'record', span.from, span.to, '--name', 'news-away', ...asked);
    expect([recorded.code, recorded.err]).toEqual([0, '']);
    expect(readScenario(recorded.out, 'news-away')).toMatchObject({
      name: 'news-away',
      blastRadius: { upstreams: ['news'] },
    });
    const before = await larkspur('chaos', 'record', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', ...asked);
    expect([before.code, before.out]).toEqual([1, '']);
    expect(before.err).toMatch(/^error: none of \d+ attempts failed in that time\ncure: /);
  }, 60_000);

  it('report prints the week as one object, and a timeline for a time', async () => {
    const week = await larkspur('report', '--json', '--ledger', join(folder, 'no-runs.jsonl'), ...asked);
    expect([week.code, objectOf(week)]).toMatchObject([0, { biggestGap: { slo: 'upstream/news' } }]);
    const timeline = await larkspur('report', '--from', span.from, '--to', span.to, '--json', ...asked);
    expect(timeline.code).toBe(0);
    expect(objectOf(timeline)['markdown']).toMatch(/^# Incident from /);
    const wrong = await larkspur('report', '--days', '0', '--json');
    expect([wrong.code, wrong.out, wrong.err]).toEqual([1, '', expect.stringContaining('1 to 365')]);
  }, 60_000);

  it('explain --spike prints what stood together as one object, and ends with 1 for a minute that nobody knows', async () => {
    const spike = await larkspur('explain', '--spike', span.called, '--json', ...asked);
    expect(spike.err).toBe('');
    expect([spike.code, Object.keys(objectOf(spike))]).toEqual([0, expect.arrayContaining(['minute', 'rises'])]);
    const none = await larkspur('explain', '--spike', '2026-01-01T00:00Z', '--json', ...asked);
    expect([none.code, none.out, none.err]).toEqual([1, '', expect.stringMatching(/^error: .+\n/)]);
  }, 60_000);
});
