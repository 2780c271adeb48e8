import { Draws, faultSpanMs } from './draws.ts';
import type { Fault, Plan, PlannedCancel } from './plan.ts';

/** A plan with which nobody has interfered. */
export type LeftAlone = Omit<Plan, 'cancels'>;

/** The same plan with calls cancelled, around the time at which they are written or long after, and upstreams paused. */
export function interfered(plan: LeftAlone): Plan {
  // Its own draws: everything else stays as it was.
  const draws = new Draws(~plan.seed);
  const share = draws.pick([0.05, 0.3, 0.8]);
  const withinMs = draws.pick([50, 2_000, 20_000]);
  const cancels = plan.calls
    .filter(() => draws.chance(share))
    .map(({ id, atMs }): PlannedCancel => ({ id, atMs: Math.max(0, atMs + draws.between(-20, withinMs)) }));
  // Where one upstream is to be spared, nobody keeps its calls from going.
  const pauses = plan.spared === undefined ? draws.whole(0, 3) : 0;
  const paused = Array.from({ length: pauses }, (): Fault => {
    const atMs = draws.between(0, draws.chance(0.5) ? 5_000 : faultSpanMs);
    return { kind: 'pause', upstream: draws.pick(['feishu', 'news']), atMs, forMs: draws.between(500, 30_000) };
  });
  return { ...plan, cancels, faults: [...plan.faults, ...paused] };
}
