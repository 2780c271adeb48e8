import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import type { BenchOptions } from '../main.ts';
import { type Contestant, offer } from '../offer.ts';

import { callsOf, type Course, courseOf, dueIn, type Load } from './course.ts';
import { larkspur } from './larkspur.ts';
import { oldGateway } from './old-gateway.ts';

const delayMs = 50;
const usualSeconds = 35;
// A second is calm while its calls take no more than five times what the API takes.
const calmMs = 5 * delayMs;
const calmWithinSeconds = 20;
// 230 ms of 1,800 ms: what the rebuild of such a gateway brought.
const p99Ratio = 0.13;

/**
 * 500 calls a second for an API that takes 50 ms, at one stroke 2,000, then 500 again: a blocking gateway with a fixed pool,
 * then Larkspur on the embedded store, each against a stub in a process of its own. Needs no services.
 */
export async function surgeReport({ calls, tell }: BenchOptions): Promise<Report> {
  const load = calls > 0 ? loadOf((usualSeconds * calls) / callsOf(loadOf(usualSeconds))) : loadOf(usualSeconds);
  const control = await against('control', oldGateway, load, tell);
  const ours = await against('larkspur', larkspur, load, tell);
  const bars = [
    atMost('p99Ratio', Math.round((ours.p99DuringMs / control.p99DuringMs) * 1_000) / 1_000, p99Ratio),
    atMost('calmAfterSeconds', ours.calmAfterSeconds, calmWithinSeconds),
    atMost('errors', ours.errors, 0),
    atMost('lost', ours.lost, 0),
    atMost('amplification', ours.amplification, 1.05),
  ];
  return reportOf('surge', bars, { load, delayMs, calmMs, control, larkspur: ours });
}

function loadOf(seconds: number): Load {
  const part = (perSecond: number, share: number) => ({ perSecond, ms: Math.round(seconds * share * 1_000) });
  return { before: part(500, 1 / 7), during: part(2_000, 5 / 7), after: part(500, 1 / 7) };
}

async function against(
  name: string,
  make: (upstreamUrl: string) => Contestant,
  load: Load,
  tell: (line: string) => void,
): Promise<Course> {
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
      const taken = await offer(contestant, callsOf(load), (ms) => dueIn(load, ms));
      const course = courseOf(load, taken, contestant.requests(), calmMs);
      tell(`${name.padEnd(8)} ${JSON.stringify(course)}`);
      return course;
    } finally {
      await contestant.close();
    }
  } finally {
    stub.kill();
  }
}
