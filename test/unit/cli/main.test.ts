import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, describe, expect, it } from 'vitest';

import { larkspur } from '../../support/command-line.ts';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'larkspur-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('larkspur', () => {
  it('lists its commands with --help and ends with 0', async () => {
    const { code, out } = await larkspur('--help');

    expect(code).toBe(0);
    for (const name of ['topics', 'tail', 'sandbox', 'doctor', 'config'])
      expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  }, 60_000);

  // Tests load modules with a loader of their own; only plain Node shows an import that does not resolve.
  it('loads everything that its commands need in plain Node', async () => {
    const files = readdirSync(join(root, 'src/cli')).filter((name) => name !== 'main.ts');
    expect(files.length).toBeGreaterThan(20);
    const script = `for (const name of ${JSON.stringify(files)}) await import('./src/cli/' + name);`;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
    expect(await promisify(execFile)(process.execPath, args, { cwd: root })).toMatchObject({ stderr: '' });
  }, 60_000);

  it('shows the configuration with secrets masked', async () => {
    const file = join(folder, 'good.yaml');
    writeFileSync(file, 'drainMs: 5000');
    const { code, out, err } = await larkspur('config', 'show', '--config', file);

    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^drainMs +5000 +# .*good\.yaml:1$/m);
    expect(out).toMatch(/^adminToken +\*\*\* +# env LARKSPUR_ADMIN_TOKEN$/m);
    expect(out).not.toContain('hunter2');
  }, 60_000);

  it('says what is wrong and what to do about it, and ends with 1', async () => {
    const file = join(folder, 'bad.yaml');
    writeFileSync(file, 'loglevel: info\ndrainMs: soon');
    const { code, out, err } = await larkspur('config', 'check', '--config', file);

    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^error: the configuration has 2 mistakes\n {2}- loglevel .*did you mean logLevel\?\n {2}- drainMs .*\ncure: /,
    );
  }, 60_000);

  it('routes test prints what would happen to an event, and ends with 1 for what is none', async () => {
    const config = join(folder, 'routes.yaml');
    writeFileSync(config, `apps: [{ id: cli_a, secret: s }]\nroutes: [{ on: im.*, name: copy, topic: audit }]`);
    const event = join(folder, 'event.json');
    const head = { event_id: 'ev1', event_type: 'im.chat.disbanded_v1', create_time: '1', app_id: 'cli_a' };
    writeFileSync(event, JSON.stringify({ schema: '2.0', header: head, event: { chat_id: 'oc_1' } }));

    const good = await larkspur('routes', 'test', event, '--config', config);
    const bad = await larkspur('routes', 'test', config, '--config', config);
    expect([good.code, good.out]).toEqual([
      0,
      'event ev1 of type im.chat.disbanded_v1, key oc_1\n  copy: called\n    {"topic":"audit"}\n',
    ]);
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining('the file holds no event of Feishu')]);
  }, 60_000);
});
