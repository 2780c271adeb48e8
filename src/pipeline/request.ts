import type { Call } from '../model/call.ts';
import type { CallPlan } from '../ports/profile.ts';

import type { Destination } from './destination.ts';

/** What a record asks for. */
export interface Request {
  readonly call: Call;
  readonly id: string;
  readonly destination: Destination;
  readonly plan: CallPlan;
  readonly round?: number;
}
