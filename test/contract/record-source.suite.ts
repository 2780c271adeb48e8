import { recordDeliverySuite } from './record-delivery.suite.ts';
import { recordMembershipSuite } from './record-membership.suite.ts';
import type { SourceHarness } from './source-stage.ts';

export type { SourceHarness } from './source-stage.ts';

/** What every record source promises, whatever it reads from. */
export function recordSourceSuite(name: string, open: () => Promise<SourceHarness>): void {
  recordDeliverySuite(name, open);
  recordMembershipSuite(name, open);
}
