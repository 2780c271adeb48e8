import type { Explanation } from '../../model/explanation.ts';
import type { HeldState } from '../../model/held.ts';
import type { InRecord } from '../../model/record.ts';
import { isoTime } from '../../model/time.ts';

import { attemptSteps } from './attempt-steps.ts';
import { placeIn, placeText } from './places.ts';

/** The explanation of a call that waits in a delay topic, outside of all workers. */
export function explainHeld(ref: string, id: string, record: InRecord, state: HeldState): Explanation {
  const { origin, why, sinceMs, notBeforeMs, deadlineMs, attemptsMade, hop, attempts } = state;
  const until = isoTime(notBeforeMs);
  const on = placeText(record);
  const first = placeIn(origin);
  const last = attempts.at(-1);
  const said = last === undefined ? '' : `; the last attempt ended with: ${last.message ?? last.class}`;
  return {
    ref,
    where: 'elsewhere',
    summary: `It waits in ${record.topic}, outside of all workers, for ${why}, until ${until}${said}.`,
    id,
    ...(first === undefined ? {} : { at: first }),
    steps: [
      ...attemptSteps(attempts),
      { at: isoTime(record.timestampMs), what: `written to ${on} to wait there, step ${hop} of this wait` },
    ],
    waits: [
      {
        what: 'delay',
        on,
        why: `it waits outside of the workers for ${why}${said}`,
        cure: 'nothing: it comes back by itself; see the attempts for why it had to go',
        since: isoTime(sinceMs),
        until,
      },
    ],
    attempts,
    next: { attempt: attemptsMade + 1, notBefore: until },
    deadline: isoTime(deadlineMs),
  };
}
