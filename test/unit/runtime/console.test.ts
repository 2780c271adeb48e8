import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { send } from '../../support/calls.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { findBrowser, visit } from '../../support/headless.ts';
import { only } from '../../support/only.ts';

const html = readFileSync(new URL('../../../src/adapters/http/console/console.html', import.meta.url), 'utf8');
const browser = await findBrowser();
const missing = browser === undefined ? ' (skipped: no browser; Debian has one in the package chromium)' : '';
const pictures = process.env['LARKSPUR_CONSOLE_PICTURES'];

/** The words of the page, by language, as its script has them. */
function wordsIn(page: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const text = /const words = (\{[^]*?\n {6}\});/.exec(page)?.[1] ?? '';
  return runInNewContext(`(${text})`) as ReturnType<typeof wordsIn>;
}

describe('the console page', () => {
  let sandbox: Sandbox;
  let served: Served;
  beforeAll(async () => {
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const files = new ConfigFiles();
    const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams:
  feishu:
    baseUrl: '${sandbox.url}'
    slo: { objective: 0.99, latencyMs: 1000 }
    groups: { contacts: { paths: ['/open-apis/contact/*'], concurrency: 7 } }
`);
    files.remove();
    served = await serve(config, [], { worker: true, ingress: false });
    const calls = (id: string) => {
      const value = Buffer.from(JSON.stringify(send(id, 'oc_1')));
      return only(served.stores.sink.append({ topic: 'calls', key: null, value, headers: [] }));
    };
    // One call goes well, so that there is something to be measured.
    await calls('m-0');
    while ((served.worker?.worker.settled ?? 0) < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    // One hangs, so that there is something to be explained; markup in an id stays text.
    sandbox.setFaults([{ kind: 'timeout' }]);
    await calls('<b>m-1</b>');
    const asked = `${served.adminUrl}/admin/explain/${encodeURIComponent('<b>m-1</b>')}`;
    while (!(await (await fetch(asked)).text()).includes('has not answered yet'))
      await new Promise((resolve) => setTimeout(resolve, 20));
  });
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
  });

  it('is served to anybody, runs its own script alone, and reaches no other host', async () => {
    const reply = await fetch(`${served.adminUrl}/`);
    expect(reply.headers.get('content-type')).toContain('text/html');
    const policy = reply.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'.*script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='/);
    expect(policy).not.toContain('unsafe');
    expect(await reply.text()).toBe(html);
    expect(html).not.toMatch(
      /https?:|\/\/[a-z]|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|\sstyle=|\son[a-z]+=/,
    );
  });

  it('says everything in English and in Chinese', () => {
    const { en, zh } = wordsIn(html);
    expect(Object.keys(zh!)).toEqual(Object.keys(en!));
    expect(Object.values(zh!).every((text) => /\p{Script=Han}/u.test(text))).toBe(true);
    const used = [...html.matchAll(/data-word="(\w+)"|word\('(\w+)'\)/g)].map(([, one, other]) => one ?? other);
    expect(used.length).toBeGreaterThanOrEqual(20);
    expect(used.filter((name) => !Object.hasOwn(en!, name ?? ''))).toEqual([]);
  });

  it('asks only doors that are there, and changes nothing', async () => {
    const paths = [...html.matchAll(/['`](\/admin\/[^'`$]*)/g)].map(([, path]) => path ?? '');
    expect(paths).toHaveLength(8);
    const statuses = paths.map(async (path) => (await fetch(`${served.adminUrl}${path.replace(/\/$/, '/x')}`)).status);
    expect(await Promise.all(statuses)).toEqual(paths.map(() => 200));
    expect(html).not.toMatch(/method: '|'POST'|'PUT'|'DELETE'/);
  });

  it('counts dead letters for a link to them also where a token has to be given first', async () => {
    const asked: string[] = [];
    const [, script = ''] = /<script>([^]*)<\/script>/.exec(html) ?? [];
    const handlers = new Map<string, (event: object) => void>();
    const stub = (id: string): object => {
      const known: Record<string, unknown> = { value: id === 'token' ? 'hush' : '', dataset: {}, hidden: false };
      return new Proxy(known, {
        get: (_, name: string) =>
          name === 'addEventListener'
            ? (type: string, handle: (event: object) => void) => handlers.set(`${id} ${type}`, handle)
            : (known[name] ?? (() => undefined)),
      });
    };
    runInNewContext(script, {
      ...{ URLSearchParams, Node: Date, setInterval: () => 0, location: { search: '?dead-letters' } },
      navigator: { language: 'en' },
      document: { documentElement: {}, getElementById: stub, createElement: stub, querySelectorAll: () => [] },
      fetch: (path: string, { headers }: { headers: { authorization?: string } }) => {
        if (headers.authorization === 'Bearer hush') asked.push(path);
        return Promise.resolve({ status: 401, ok: false });
      },
    });
    handlers.get('access submit')?.({ preventDefault: () => undefined });
    await expect.poll(() => asked).toContain('/admin/dead-letters?by=reason,upstream,code');
  });

  it('S000-83: shows of each promise the objective, what was measured and what is left of the budget', async () => {
    const reply = await fetch(`${served.adminUrl}/admin/slo`);
    const { slos } = (await reply.json()) as { slos: Record<string, unknown>[] };
    const [one] = slos;
    expect(one).toMatchObject({ name: 'upstream/feishu', objective: 0.99, windowMs: 604_800_000 });
    expect(one).toMatchObject({ measured: 1, budgetLeft: 1, burns: [{ longRate: 0 }, { longRate: 0 }] });
    for (const shown of ['objective', 'measured', 'budgetLeft', 'longRate']) {
      expect(html).toMatch(new RegExp(`slos\\.map\\([^]*\\b${shown}\\b`));
    }
  });

  it.skipIf(browser === undefined).each([
    [
      'en',
      1_200,
      'Why does a record wait?',
      'waits for: answer (feishu)',
      'healthy',
      'This worker',
      'lanes/feishu',
      'upstream/feishu',
      '99 %',
    ],
    [
      'zh',
      420,
      '一条记录为什么在等？',
      '在等: answer (feishu)',
      '健康',
      '本 worker',
      'lanes/feishu',
      'upstream/feishu',
      '99 %',
    ],
  ])(
    `shows flow, upstreams and why a record waits, in a real browser: %s, %i wide${missing}`,
    async (lang, width, ...texts) => {
      const url = `${served.adminUrl}/?lang=${lang}&ref=${encodeURIComponent('<b>m-1</b>')}`;
      const picture = pictures === undefined ? {} : { picture: `${pictures}/console-${lang}-${width}.png` };
      const page = await visit(browser!, url, { width, height: 1_400, ...picture });
      for (const text of [...texts, 'has not answered yet', 'POST /open-apis/im/v1/messages', '0 / 7'])
        expect(page).toContain(text);
      expect(page).toMatch(new RegExp(`lang="${lang === 'zh' ? 'zh-CN' : 'en'}"`));
      expect(page).not.toContain('<b>m-1</b>');
      // Nobody is asked for a token where none is needed.
      expect(page).toMatch(/<form id="access" hidden="">/);
    },
    60_000,
  );
});
