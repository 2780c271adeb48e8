import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import type { BenchOptions } from '../main.ts';

import { larkspur } from './larkspur.ts';
import { type Contestant, offer, type Taken } from './offer.ts';
import { oldGateway } from './old-gateway.ts';

const ratePerSecond = 2_000;
const delayMs = 50;
const usualCalls = 20_000;
// 230 ms of 1,800 ms: what the rebuild of such a gateway brought.
const p99Ratio = 0.13;

/**
 * 2,000 calls a second for an API that takes 50 ms: a blocking gateway with a fixed pool, then Larkspur on the embedded
 * store, each against a stub in a process of its own. Needs no services.
 */
export async function surgeReport({ calls, tell }: BenchOptions): Promise<Report> {
  const count = calls > 0 ? calls : usualCalls;
  const control = await against('control', oldGateway, count, tell);
  const ours = await against('larkspur', larkspur, count, tell);
  const bars = [
    atMost('p99Ratio', Math.round((ours.p99Ms / control.p99Ms) * 1_000) / 1_000, p99Ratio),
    atMost('errors', ours.errors, 0),
    atMost('amplification', ours.amplification, 1.05),
    // A lag that grows would be more than half a second of load by now.
    atMost('openAtEnd', ours.openAtEnd, ratePerSecond / 2),
  ];
  return reportOf('surge', bars, { calls: count, ratePerSecond, delayMs, control, larkspur: ours });
}

async function against(
  name: string,
  make: (upstreamUrl: string) => Contestant,
  calls: number,
  tell: (line: string) => void,
): Promise<Taken> {
  const stub = fork(fileURLToPath(new URL('../throughput/stub.ts', import.meta.url)), {
    env: { ...process.env, DELAY_MS: String(delayMs) },
    execArgv: ['--import', 'tsx'],
  });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      stub.once('message', (message) => resolve((message as { port: number }).port));
      stub.once('exit', (code) => reject(new Error(`the stub ended with ${String(code)}`)));
    });
    const contestant = make(`http://127.0.0.1:${port}`);
    try {
      const taken = await offer(contestant, calls, ratePerSecond);
      tell(`${name}: ${JSON.stringify(taken)}`);
      return taken;
    } finally {
      await contestant.close();
    }
  } finally {
    stub.kill();
  }
}
