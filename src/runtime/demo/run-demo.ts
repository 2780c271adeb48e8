import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { forkJoin, lastValueFrom } from 'rxjs';

import { systemClock, systemTimers } from '../../adapters/system/clock.ts';
import type { LarkspurError } from '../../model/errors.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import { createSandbox } from '../../sandbox/sandbox.ts';
import { seeded } from '../../sandbox/world-ports.ts';
import { openStores } from '../open-stores.ts';
import { type Report, reportOf } from '../report.ts';
import { type RunningWorker, startWorker } from '../start-worker.ts';
import { stderrLogger } from '../stderr-logger.ts';
import type { WorldParts } from '../stores.ts';

import { chatIds, type DemoCall, demoCalls } from './calls.ts';
import { type Figures, figuresOf } from './figures.ts';
import { type Progress, progressOf } from './progress.ts';
import { demoConfig, prepare } from './scene.ts';
import { Tally } from './tally.ts';
import { readTerminals } from './terminals.ts';
import { barsOf, effectsOwed, judge } from './verdict.ts';

/** What may be set for a demo. */
export interface DemoOptions {
  /** 1 or more. */
  readonly calls: number;
  /** Chats that the calls are dealt to; 1 or more. */
  readonly keys: number;
  /** Decides kinds of calls, draws of faults and jitter. The order of arrival stays the machine's. */
  readonly seed: number;
  /** Folder of the store, which is kept; `memory`; `undefined`: a temporary folder, removed at the end. */
  readonly data: string | undefined;
}

/** The parts that a test replaces to see the verdict fail. */
export interface DemoParts {
  readonly openStores: typeof openStores;
  readonly createSandbox: typeof createSandbox;
}

/** Who watches the run. */
export interface DemoWatch {
  /** Told once, when everything is in place. `data` is the folder, or `memory`. */
  started(about: { readonly data: string }): void;
  /** Told several times a second. */
  progress(progress: Progress): void;
  /** Resolves when the run should end early. */
  readonly stop: Promise<unknown>;
}

/** How a demo ended: checked, or stopped before there was anything to check. */
export type DemoEnd =
  | { readonly kind: 'judged'; readonly report: Report; readonly figures: Figures }
  | { readonly kind: 'stopped'; readonly ended: number };

// Longer than the second hold of a call that fails again and again.
const stalledMs = 75_000;
const lookEveryMs = 120;
const producedAtOnce = 500;

/**
 * Runs the whole house once, against a sandbox that fails on purpose, and checks it against the sandbox's own ledger and
 * the topics read back. Leaves nothing behind but a folder that was asked for. Rejects with a `LarkspurError` when
 * something cannot be opened or the worker fails.
 */
export async function runDemo(
  options: DemoOptions,
  watch: DemoWatch,
  parts: DemoParts = { openStores, createSandbox },
): Promise<DemoEnd> {
  const data = options.data ?? (await mkdtemp(join(tmpdir(), 'larkspur-demo-')));
  try {
    const sandbox = await parts.createSandbox({ seed: options.seed, details: 100 });
    try {
      return await perform(options, data, sandbox, watch, parts);
    } finally {
      await sandbox.close();
    }
  } finally {
    if (options.data === undefined) await rm(data, { recursive: true, force: true });
  }
}

async function perform(
  options: DemoOptions,
  data: string,
  sandbox: Awaited<ReturnType<typeof createSandbox>>,
  watch: DemoWatch,
  parts: DemoParts,
): Promise<DemoEnd> {
  const { calls: count, keys, seed } = options;
  const run = randomBytes(3).toString('hex');
  const config = demoConfig(sandbox.url, data);
  const tally = new Tally();
  const log = stderrLogger('error', []);
  const world: WorldParts = { clock: systemClock, timers: systemTimers, random: seeded(seed + 1), log, metrics: tally };
  const stores = parts.openStores(config, world);
  let worker: RunningWorker | undefined;
  try {
    const chats = await prepare(sandbox, chatIds(run, Math.min(keys, count)));
    const calls = demoCalls(run, count, chats, seeded(seed));
    let fail: (error: LarkspurError) => void = () => undefined;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    watch.started({ data });
    const startedMs = systemClock.now();
    const running = startWorker(config, stores, world, (error) => fail(error));
    worker = running;
    const { house } = running;
    const ends = await Promise.race([produce(stores.sink, calls), failed]);
    const look = (): Progress =>
      progressOf(house, tally, count, systemClock.now() - startedMs, sandbox.stats().replays);
    const end = await untilDone(running, ends, look, watch, failed);
    const durationMs = systemClock.now() - startedMs;
    worker = undefined;
    await running.stop();
    if (end === 'stopped') return { kind: 'stopped', ended: look().ended };

    const mine = new Set(calls.map(({ id }) => id));
    const terminals = (await readTerminals(stores)).filter(({ id }) => mine.has(id));
    const owed = effectsOwed(calls, terminals);
    const ledger = sandbox.verdict({ calls: owed });
    const writes = [...owed.values()].reduce((sum, due) => sum + due, 0);
    const figures = figuresOf(
      { calls: count, keys: chats.length, writes, seed, durationMs },
      terminals,
      tally,
      sandbox,
    );
    return { kind: 'judged', report: reportOf('demo', barsOf(judge(calls, terminals, ledger)), figures), figures };
  } finally {
    await worker?.stop();
    await stores.close();
  }
}

/** Hands all calls in, in their order. Resolves with the offset behind the last one, by partition. */
async function produce(sink: RecordSink, calls: readonly DemoCall[]): Promise<ReadonlyMap<number, number>> {
  const ends = new Map<number, number>();
  for (let at = 0; at < calls.length; at += producedAtOnce) {
    const acks = await lastValueFrom(
      forkJoin(calls.slice(at, at + producedAtOnce).map(({ record }) => sink.append(record))),
      { defaultValue: [] },
    );
    for (const ack of acks) {
      if (ack.kind === 'written') ends.set(ack.partition, Math.max(ends.get(ack.partition) ?? 0, ack.offset + 1));
    }
  }
  return ends;
}

/**
 * Looks on until the worker has finished everything that was handed in, or nothing has happened for so long that the
 * verdict must say what is missing, or somebody wants it to stop. Rejects, and looks no more, when the worker fails.
 */
function untilDone(
  { house }: RunningWorker,
  ends: ReadonlyMap<number, number>,
  look: () => Progress,
  watch: DemoWatch,
  failed: Promise<never>,
): Promise<'done' | 'stalled' | 'stopped'> {
  const done = (): boolean => {
    const calls = [...house.partitions.stats()].filter(({ partition: { topic } }) => topic === 'calls');
    const watermarks = new Map(calls.map(({ partition, watermark }) => [partition.partition, watermark]));
    return [...ends].every(([partition, end]) => (watermarks.get(partition) ?? 0) >= end);
  };
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<'done' | 'stalled' | 'stopped'>((resolve) => {
    let moved = look();
    timer = setInterval(() => {
      const now = look();
      watch.progress(now);
      if (now.ended !== moved.ended || now.attempts !== moved.attempts) moved = now;
      // A call that waits in a delay topic is done with there, and has not ended.
      if (now.ended >= now.calls && done()) resolve('done');
      else if (now.elapsedMs - moved.elapsedMs > stalledMs) resolve('stalled');
    }, lookEveryMs);
    void watch.stop.then(() => resolve('stopped'));
  });
  return Promise.race([ended, failed]).finally(() => clearInterval(timer));
}
