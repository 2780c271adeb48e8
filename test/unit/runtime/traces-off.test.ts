import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const program = (tracing: string): string => `
  import { createRequire } from 'node:module';
  import { complete } from './src/config/complete.ts';
  import { compile } from './src/config/compile.ts';
  import { serve } from './src/runtime/serve.ts';
  const written = { data: 'memory', logLevel: 'silent', listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' } ${tracing} };
  const served = await serve(compile(complete(written, () => '').value, new Map()), [], { worker: true, ingress: true });
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('exporter-trace-otlp'));
  await served.stop();
  process.stdout.write(loaded.length > 0 ? 'loaded' : 'not loaded', () => process.exit(0));
`;

/** What a process that serves has loaded. */
async function loadedWith(tracing: string): Promise<string> {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program(tracing)];
  return (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout;
}

it('without traces nothing of OpenTelemetry is loaded', async () => {
  expect(await Promise.all([loadedWith(''), loadedWith(", tracing: { endpoint: 'http://127.0.0.1:9' }")])).toEqual([
    'not loaded',
    'loaded',
  ]);
}, 60_000);
