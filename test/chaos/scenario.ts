import type { Report } from '../../src/runtime/report.ts';

import type { GivenServices } from './world/world.ts';

/** What a run is asked for. */
export interface Settings {
  /** Calls of a backlog. */
  readonly calls: number;
  readonly keys: number;
  /** Records of the backlog behind a hanging upstream. */
  readonly records: number;
  /** Seconds that the upstream hangs. */
  readonly hangSeconds: number;
  /** Events of Feishu. */
  readonly events: number;
  /** Seconds that Kafka is away from the ingresses. */
  readonly outageSeconds: number;
  /** For scenarios that do not hurt them. */
  readonly services: GivenServices;
  /** How long several faults go on, minutes. */
  readonly minutes: number;
  /** Of what chance decides. */
  readonly seed: number;
  /** What a person must see in any case. */
  readonly say: (text: string) => void;
  /** Progress for a person. */
  readonly tell: (text: string) => void;
}

export type Scenario = (settings: Settings) => Promise<Report>;
