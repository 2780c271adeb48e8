import { finalize, of } from 'rxjs';

import type { House } from '../../src/pipeline/house.ts';
import type { Received } from '../../src/pipeline/received.ts';

/** A call that ended on its way out stays in its line, as if it were outside. */
export function staysNoted({ lines }: House): void {
  const [leaves, stays, unpark$] = [lines.leaves.bind(lines), lines.stays.bind(lines), lines.unpark.bind(lines)];
  const leaving = new Map<Received, () => void>();
  lines.leaves = (job, awayMs) => {
    leaving.set(job.received, () => leaves(job, awayMs));
    leaves(job, awayMs);
  };
  lines.stays = (job) => {
    leaving.delete(job.received);
    stays(job);
  };
  lines.unpark = (received) => {
    const again = leaving.get(received);
    leaving.delete(received);
    const unparked$ = unpark$(received);
    if (again === undefined || !lines.holds(received.partition)) return unparked$;
    return (unparked$ ?? of(true)).pipe(finalize(again));
  };
}

/** What is left of a call that was cancelled in its ring is counted when it comes out, and never taken off again. */
export function countsWhatIsOver({ lanes, overflow }: House): void {
  const add = lanes.add.bind(lanes);
  lanes.add = (item, place) => {
    if (item.kind === 'call' && item.over) overflow.comes(item);
    add(item, place);
  };
}

/** Calls of a paused upstream hear nothing when it goes on. */
export function sleepsOn({ lanes }: House): void {
  const wake = lanes.wake.bind(lanes);
  lanes.wake = (room) => {
    if (!room.startsWith('paused:')) wake(room);
  };
}

/** The claim of a call that has ended is kept, and renewed for ever. */
export function keepsClaims({ keeper }: House): void {
  keeper.forget = () => undefined;
}
