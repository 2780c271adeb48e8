import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { freePorts } from '../../support/services/child.ts';
import {
  api,
  call,
  closeAll,
  openAround,
  openTracedHouse,
  patience,
  startProgram,
  toClose,
} from '../../support/traced-house.ts';

vi.setConfig({ testTimeout: 60_000 });
afterEach(closeAll);

describe('metrics, traces and logs', () => {
  it('S000-93: lead from one to the next: a metric names a trace, its spans are at the collector, the log line names it', async () => {
    const { collector, config, trace } = await openAround();
    const { ingressUrl, adminUrl, log } = await startProgram(config);
    const answer = await fetch(`${ingressUrl}/v1/calls?wait=20s`, { method: 'POST', body: JSON.stringify(call) });
    expect(answer.status).toBe(200);
    await trace('process calls');
    const page = await fetch(`${adminUrl}/metrics`, {
      headers: { accept: 'application/openmetrics-text;version=1.0.0' },
    });
    expect(page.headers.get('content-type')).toContain('application/openmetrics-text');
    const exemplar = /^larkspur_attempt_seconds_bucket\{.*\} \d+ # \{trace_id="([0-9a-f]{32})"\} [\d.]+$/m;
    const [, traceId = ''] = exemplar.exec(await page.text()) ?? [];
    const spans = await trace(api);
    expect(spans[0]?.traceId).toBe(traceId);
    expect(collector.spans).toContain(spans[0]);
    const said = (): string[] =>
      [...log().matchAll(/^\{.*\}$/gm)]
        .map(([line]) => JSON.parse(line) as { msg: string; traceId?: string })
        .filter((line) => line.traceId === traceId)
        .map(({ msg }) => msg);
    await vi.waitFor(() => expect(said()).toEqual(expect.arrayContaining(['a call has ended', 'request'])), patience);
    // Who does not ask for it gets the page as ever.
    const plain = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(plain).toContain('larkspur_records_ended_total');
    expect(plain).not.toContain('trace_id');
  });
});

const prometheusIsHere = await promisify(execFile)('prometheus', ['--version']).then(
  () => true,
  () => false,
);

describe(`Prometheus${prometheusIsHere ? '' : ' (skipped: it is not here; Debian has it in the package prometheus)'}`, () => {
  it.skipIf(!prometheusIsHere)('reads the page with exemplars, and finds the trace of a metric', async () => {
    const { served, trace } = await openTracedHouse();
    await fetch(`${served.ingressUrl ?? ''}/v1/calls?wait=20s`, { method: 'POST', body: JSON.stringify(call) });
    const spans = await trace(api);
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-exemplars-'));
    const [port = 0] = await freePorts(1);
    const job = `{ job_name: larkspur, static_configs: [{ targets: ['${new URL(served.adminUrl).host}'] }] }`;
    writeFileSync(join(folder, 'p.yml'), `global: { scrape_interval: 1s }\nscrape_configs: [${job}]\n`);
    const flags = [`--config.file=${folder}/p.yml`, `--storage.tsdb.path=${folder}/data`];
    const prometheus = spawn(
      'prometheus',
      [...flags, `--web.listen-address=127.0.0.1:${port}`, '--enable-feature=exemplar-storage'],
      { stdio: 'ignore' },
    );
    toClose.push(() => {
      prometheus.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    const query = new URLSearchParams({ query: 'larkspur_attempt_seconds_bucket', start: '0', end: '9999999999' });
    const found = async (): Promise<string> => {
      const reply = await fetch(`http://127.0.0.1:${port}/api/v1/query_exemplars?${query.toString()}`).catch(
        () => undefined,
      );
      return (await reply?.text()) ?? '';
    };
    await vi.waitFor(async () => expect(await found()).toContain(spans[0]!.traceId), patience);
  });
});
