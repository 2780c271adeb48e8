import { cancelMutants } from './cancels.ts';
import { claimMutants } from './claims.ts';
import { laneMutants } from './lanes.ts';
import type { Mutant } from './mutant.ts';
import { overflowMutants } from './overflow.ts';
import { topicMutants } from './topics.ts';
import { upstreamMutants } from './upstreams.ts';

/** Every bug on purpose. */
export const mutants: readonly Mutant[] = [
  ...topicMutants,
  ...claimMutants,
  ...upstreamMutants,
  ...laneMutants,
  ...overflowMutants,
  ...cancelMutants,
];
