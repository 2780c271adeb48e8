import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it, vi } from 'vitest';

import { createSandbox } from '../../../src/sandbox/sandbox.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'larkspur-echo-'));
afterAll(() => rmSync(folder, { recursive: true }));

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [, section = ''] = /^## Answer messages\n(.*?)^## /ms.exec(readme) ?? [];
const blocks = [...section.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language, text = '']) => ({ language, text }));
const textsOf = (language: string) => blocks.filter((block) => block.language === language).map(({ text }) => text);
const [module = ''] = textsOf('js');
const [asHandler = '', asTemplate = ''] = textsOf('yaml');

/** `larkspur up` in a folder with the files of the README, on free ports and with the sandbox as Feishu. */
async function up(yaml: string, sandboxUrl: string) {
  writeFileSync(join(folder, 'echo.mjs'), module);
  const here = `listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }\nupstreams: { feishu: { baseUrl: '${sandboxUrl}' } }\n`;
  writeFileSync(join(folder, 'larkspur.yaml'), yaml + here);
  const loader = new URL('../../../node_modules/tsx/dist/loader.mjs', import.meta.url).href;
  const args = ['--import', loader, join(root, 'src/cli/main.ts'), 'up', '--data', 'memory', '--log-level', 'warn'];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, FEISHU_APP_SECRET: 's', FEISHU_ENCRYPT_KEY: 'k' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += String(chunk)));
  const ingress = () => /POST (http:\S+)\/v1\/calls/.exec(said)?.[1] ?? '';
  await vi.waitFor(() => expect(ingress()).not.toBe(''), { timeout: 60_000, interval: 50 });
  return {
    url: ingress(),
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

describe('the echo bot of the README', () => {
  it('is no longer than 15 lines', () => {
    expect(module.trim().split('\n').length).toBeLessThanOrEqual(15);
  });

  it.each([
    ['a handler module', asHandler],
    ['a call template', asTemplate],
  ])('answers each message once, in the order of its chat, as %s', { timeout: 180_000 }, async (_, yaml) => {
    const sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    const bot = await up(yaml, sandbox.url);
    const target = { urls: [bot.url], app: 'cli_a1', encryptKey: 'k' };
    const { ids } = await sandbox.sendEvents({ target, events: 40, chats: 4, duplicates: 0.3 });

    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(40), { timeout: 60_000, interval: 50 });
    const calls = Object.fromEntries(Object.entries(ids).map(([chat, of]) => [chat, of.length]));
    expect(sandbox.verdict({ calls })).toMatchObject({ missing: 0, twice: 0, outOfOrder: 0 });
    await bot.stop();
    await sandbox.close();
  });
});
