import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { serve } from '../../../src/runtime/serve.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { freePorts } from '../../support/services/child.ts';

import { rootFile } from './compose-file.ts';

const here = await promisify(execFile)('prometheus', ['--version']).then(
  () => true,
  () => false,
);
const missing = here ? '' : ' (skipped: prometheus is not here; Debian has it in the package prometheus)';
const root = new URL('../../../', import.meta.url).pathname;

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
const panels = readdirSync(`${root}deploy/grafana/dashboards`).flatMap((file) =>
  (JSON.parse(rootFile(`deploy/grafana/dashboards/${file}`)) as { panels: Panel[] }).panels.map(
    (panel) => [file, panel] as const,
  ),
);

/** A whole process under some load and some faults, and a real Prometheus that scrapes it each second. */
async function withWatchedProcess(work: (query: (expr: string) => Promise<number>) => Promise<void>): Promise<void> {
  const sandbox = await createSandbox({
    settings: { tierMode: 'off', chatPerSecond: 5 },
    faults: [{ kind: '503', rate: 0.2 }],
  });
  const files = new ConfigFiles();
  const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
`);
  files.remove();
  const served = await serve(config, [], { worker: true, ingress: true });
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-prometheus-'));
  const [port = 0] = await freePorts(1);
  const target = new URL(served.adminUrl).host;
  const scrape = `{ job_name: larkspur-worker, static_configs: [{ targets: ['${target}'] }] }`;
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, `global: { scrape_interval: 1s, evaluation_interval: 1s }\nscrape_configs: [${scrape}]\n`);
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const prometheus = spawn('prometheus', args, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const send = async (n: number): Promise<void> => {
    const message = { receive_id: `oc_${n % 8}`, msg_type: 'text', content: '{"text":"hi"}' };
    const call = { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body: message };
    const reply = await fetch(`${served.ingressUrl ?? ''}/v1/calls`, { method: 'POST', body: JSON.stringify(call) });
    await reply.arrayBuffer();
  };
  try {
    for (let n = 0; n < 120; n++) {
      await send(n);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await work(async (expr) => {
      const asked = encodeURIComponent(expr.replaceAll('$__rate_interval', '10s').replaceAll('[5m]', '[10s]'));
      const reply = await fetch(`${url}/api/v1/query?query=${asked}`);
      const answer = (await reply.json()) as { status: string; error?: string; data?: { result: unknown[] } };
      if (answer.data === undefined) throw new Error(`${expr}: ${answer.error ?? answer.status}`);
      return answer.data.result.length;
    });
  } finally {
    prometheus.kill('SIGKILL');
    await served.stop();
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.skipIf(!here)(`S000-15: dashboards on a real Prometheus${missing}`, () => {
  it('show something in every panel after a run with faults', { timeout: 60_000 }, async () => {
    expect(panels.length).toBeGreaterThan(40);
    await withWatchedProcess(async (query) => {
      const empty: string[] = [];
      for (const [file, { title, targets }] of panels) {
        for (const { expr } of targets) if ((await query(expr)) === 0) empty.push(`${file}: ${title}: ${expr}`);
      }
      expect(empty).toEqual([]);
      expect(await query('larkspur_no_such_total'), 'the question itself can fail').toBe(0);
    });
  });
});
