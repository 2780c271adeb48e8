import type { Explanation, Wait } from '../../model/explanation.ts';
import { type HeldState, notBeforeOf, offMs } from '../../model/held.ts';
import type { InRecord } from '../../model/record.ts';
import { isoTime } from '../../model/time.ts';
import type { WaitReason } from '../waits.ts';

import { attemptSteps, lastSaid } from './attempt-steps.ts';
import { placeIn, placeText } from './places.ts';
import { keyIsParked, waitWords } from './wait-words.ts';

/** A call in a delay topic. */
export interface HeldCall {
  readonly id: string;
  /** Whose order it keeps; `undefined` for nobody's. */
  readonly key: string | undefined;
  readonly record: InRecord;
  readonly state: HeldState;
}

/**
 * The explanation of a call that waits in a delay topic, outside of all workers.
 * @param first the first call of its key, for one that waits for nothing else
 */
export function explainHeld(ref: string, held: HeldCall, first?: HeldCall): Explanation {
  const { id, record, state } = held;
  const at = placeIn(state.origin);
  const waits = first === undefined ? [delay(held)] : [behind(held, first), delay(first)];
  return {
    ref,
    where: 'elsewhere',
    summary: `It waits in ${record.topic}, outside of all workers, until ${isoTime(notBeforeOf(state, record))}: ${waits.map(({ why }) => why).join('; ')}.`,
    id,
    ...(at === undefined ? {} : { at }),
    steps: [
      ...attemptSteps(state.attempts),
      {
        at: isoTime(record.timestampMs),
        what: `written to ${placeText(record)} to wait there, step ${state.hop} of this wait`,
      },
    ],
    waits,
    attempts: state.attempts,
    next: { attempt: state.attemptsMade + 1, notBefore: isoTime(notBeforeOf(state, record)) },
    deadline: isoTime(state.deadlineMs + offMs(state, record)),
  };
}

function delay(held: HeldCall): Wait {
  const { record, state } = held;
  const what = Object.hasOwn(waitWords, state.why) ? waitWords[state.why as WaitReason] : state.why;
  return {
    what: 'delay',
    on: placeText(record),
    why: `it waits outside of the workers for ${what}${lastSaid(state.attempts)}`,
    cure: 'nothing: it comes back by itself; see the attempts for why it had to go',
    ...times(held),
  };
}

function behind(held: HeldCall, first: HeldCall): Wait {
  const { key = '' } = held;
  return { ...keyIsParked(key, placeIn(first.state.origin) ?? first.id), ...times(held) };
}

function times({ record, state }: HeldCall): Pick<Wait, 'since' | 'until'> {
  return { since: isoTime(state.sinceMs + offMs(state, record)), until: isoTime(notBeforeOf(state, record)) };
}
