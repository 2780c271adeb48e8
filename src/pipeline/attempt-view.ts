import type { AttemptView } from '../ports/own-operator.ts';

import type { Job } from './job.ts';

/** The attempt that is about to begin, or that is judged and not yet in the job's history. */
export function attemptView({ id, destination, plan, attemptsMade }: Job): AttemptView {
  const { method, path } = plan.request();
  return { id, upstream: destination.name, api: plan.api, method, path, number: attemptsMade + 1 };
}
