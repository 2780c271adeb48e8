import type { InjectedFault } from '../../model/injected-fault.ts';

import type { Figures } from './figures.ts';

/** Where a scenario is played: a house of its own, or workers that are there. */
export interface Stage {
  /** Begins: the load, or the look at how things are before. @param run id of the run, by which its faults are known */
  start(run: string): Promise<void>;
  /** These faults hold from now on, and no others of ours. */
  setFaults(rules: readonly InjectedFault[]): Promise<void>;
  /** What came since the start, as far as it is known by now. */
  look(): Promise<Figures>;
  /** Whether there is nothing more to wait for. */
  isOver(): boolean;
  /** What is known at the end alone, beside what a look tells. */
  conclude(): Promise<Figures>;
  /** Takes the faults away and leaves nothing behind. Tells, in words, what may be left all the same. */
  close(): Promise<readonly string[]>;
}
