import type { Verdict } from '../model/outcome.ts';
import type { Attempt } from '../model/result.ts';
import { isoTime } from '../model/time.ts';

import type { SharedAttempt } from './shared-attempt.ts';
import type { Waited } from './waits.ts';

/** An attempt as the history of its call tells it. */
export function entryOf(
  { wallMs, waited }: { readonly wallMs: number; readonly waited: Waited | undefined },
  ms: number,
  verdict: Verdict,
  batch: SharedAttempt | undefined,
): Attempt {
  return {
    started: isoTime(wallMs),
    ms: Math.round(ms * 10) / 10,
    class: verdict.class,
    ...(verdict.status === undefined ? {} : { status: verdict.status }),
    ...(verdict.code === undefined ? {} : { code: verdict.code }),
    ...(verdict.class === 'success' ? {} : { message: verdict.message }),
    ...(waited === undefined ? {} : { waitedFor: waited.what, waitedMs: Math.round(waited.ms) }),
    ...(batch === undefined ? {} : { batchOf: batch.calls }),
  };
}
