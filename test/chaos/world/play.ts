import { setTimeout as sleep } from 'node:timers/promises';

import { atMost, type Bar } from '../../../src/runtime/report.ts';

import type { Fault } from './faults.ts';
import { Signs } from './signs.ts';
import { takeOverMs } from './take-over.ts';
import type { World } from './world.ts';

/** A fault that was played. */
export interface Played {
  readonly fault: string;
  /** From its beginning to the first sign of it at a worker, milliseconds; `null`: nothing showed it. */
  readonly detectMs: number | null;
  /** From its end until every partition that was behind had been committed further, milliseconds. */
  readonly recoverMs: number;
}

// What on-call is promised.
const mostMeanRecoverSeconds = 98;

/** Lets one fault happen and end, and measures how soon it showed and how soon all went on. */
export async function play(world: World, fault: Fault): Promise<Played> {
  const signs = await Signs.watch(world);
  await fault.begin(world);
  await sleep(fault.holdMs);
  await fault.end(world);
  const recoverMs = await takeOverMs(world);
  await world.replaced();
  return { fault: fault.name, detectMs: await signs.stop(), recoverMs };
}

/** The bar that every scenario has to keep. */
export function recovery(played: readonly Played[]): Bar[] {
  return [
    atMost('meanRecoverSeconds', seconds(mean(played.map(({ recoverMs }) => recoverMs))), mostMeanRecoverSeconds),
  ];
}

/** What was played, for people. */
export function playedFigures(played: readonly Played[]): Record<string, unknown> {
  const seen = played.flatMap(({ detectMs }) => (detectMs === null ? [] : [detectMs]));
  return { faults: played, meanDetectSeconds: seen.length === 0 ? null : seconds(mean(seen)) };
}

const mean = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0) / numbers.length;
const seconds = (ms: number): number => Math.round(ms / 100) / 10;
