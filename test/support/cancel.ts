import type { House } from '../../src/pipeline/house.ts';

import { collect } from './collect.ts';
import type { PipelineBench } from './pipeline-bench.ts';

/** As the door does it: the store is told, then every worker. */
export function cancel(bench: PipelineBench, house: House, id: string): void {
  collect(bench.store.claims.cancel(id, 86_400_000));
  house.cancellations.cancel(id);
}
