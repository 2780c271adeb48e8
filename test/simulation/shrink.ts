import type { Mutant } from './mutants/mutant.ts';
import type { Fault, Plan, PlannedCall } from './plan.ts';
import { type Outcome, simulate } from './simulate.ts';

/** A failing plan from which nothing more can be taken, and how much was tried. */
export interface Shrunk {
  readonly plan: Plan;
  readonly runs: number;
}

/**
 * Takes faults, cancellations, calls, and what is special about a call away, as long as the same guarantee stays broken.
 * Chance goes by name, so the rest of the world behaves as before.
 */
export function shrink(failing: Plan, mutant: Mutant | undefined, mostRuns = 3_000): Shrunk {
  const { guarantee } = simulate(failing, { mutant }).violation ?? {};
  let plan = failing;
  let runs = 0;
  const stillFails = (candidate: Plan): boolean => {
    if (runs >= mostRuns) return false;
    runs++;
    const { violation }: Outcome = simulate(candidate, { mutant });
    if (violation?.guarantee !== guarantee) return false;
    plan = candidate;
    return true;
  };
  let before: Plan;
  do {
    before = plan;
    without(
      () => plan.faults,
      (faults) => stillFails({ ...plan, faults }),
    );
    without(
      () => plan.cancels,
      (cancels) => stillFails({ ...plan, cancels }),
    );
    without(
      () => plan.calls,
      // A crash at the so manyth step comes earlier with fewer calls before it.
      (calls) =>
        stillFails({ ...plan, calls }) ||
        (plan.faults.some(({ kind }) => kind === 'crash-at') &&
          stillFails({ ...plan, calls, faults: earlier(plan.faults, plan.calls.length - calls.length) })),
    );
    for (const plain of simpler) {
      for (const index of plan.calls.keys()) {
        const call = plan.calls[index];
        const simple = call === undefined ? undefined : plain(call);
        if (simple !== undefined) stillFails({ ...plan, calls: plan.calls.with(index, simple) });
      }
    }
    if (plan.sizes.replicas > 1) stillFails({ ...plan, sizes: { ...plan.sizes, replicas: plan.sizes.replicas - 1 } });
    if (plan.sizes.partitions > 1) stillFails({ ...plan, sizes: { ...plan.sizes, partitions: 1 } });
  } while (plan !== before && runs < mostRuns);
  return { plan, runs };
}

function earlier(faults: readonly Fault[], by: number): Fault[] {
  return faults.map((fault) => (fault.kind === 'crash-at' ? { ...fault, nth: Math.max(1, fault.nth - by) } : fault));
}

/** Takes halves, quarters, and single items away while the rest still fails. */
function without<T>(present: () => readonly T[], stillFails: (rest: readonly T[]) => boolean): void {
  for (let size = Math.ceil(present().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < present().length;) {
      const rest = present().toSpliced(from, size);
      if (!stillFails(rest)) from += size;
    }
  }
}

/** Ways in which a call may be made plainer; `undefined` when it is already. */
const simpler: readonly ((call: PlannedCall) => PlannedCall | undefined)[] = [
  (call) => (call.answers.length === 0 ? undefined : { ...call, answers: [] }),
  (call) => (call.answers.length < 2 ? undefined : { ...call, answers: call.answers.slice(0, -1) }),
  (call) => (call.ttlMs === undefined ? undefined : { ...call, ttlMs: undefined }),
  (call) => (call.retry ? undefined : { ...call, retry: true }),
  (call) => (call.large ? { ...call, large: false } : undefined),
  (call) => (call.priority === 'normal' ? undefined : { ...call, priority: 'normal' }),
];
