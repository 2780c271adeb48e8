import { ElasticWindow } from './elastic-window.ts';
import { ExactWindow } from './exact-window.ts';
import type { BreakerOptions } from './options.ts';
import { SlidingWindow } from './sliding-window.ts';

/** Counts what ended lately. Readers move with the time they pass in; a clock that goes back changes nothing that is counted. */
export interface CallWindow {
  record(nowMs: number, failed: boolean, slow: boolean): void;
  calls(nowMs: number): number;
  failures(nowMs: number): number;
  slow(nowMs: number): number;
  /** How much time counts at `nowMs`, milliseconds. */
  lengthMs(nowMs: number): number;
  clear(): void;
}

/** The window that the options ask for: time buckets of fixed length, elastic, or one entry per call. */
export function callWindow({ mode, windowMs, buckets, elastic }: BreakerOptions): CallWindow {
  if (mode === 'exact') return new ExactWindow({ windowMs });
  return elastic === undefined
    ? new SlidingWindow({ windowMs, buckets })
    : new ElasticWindow({ ...elastic, maxMs: windowMs, buckets });
}
