import type { HealthProbe } from '../../ports/health-probe.ts';

/** `down`: not called at present, or gives no answer; `unhealthy`: answers, and fails or recovers; `healthy`: neither. */
export type HealthState = 'healthy' | 'unhealthy' | 'down';

/** What the active check of an upstream found last. */
export interface Checked {
  readonly state: HealthState;
  /** How long the answer took, or until there was none. */
  readonly ms: number;
  /** Why it is not healthy. */
  readonly error?: string;
  readonly at: string;
}

/** A question from time to time, and the newest answer. */
export interface HealthCheck {
  readonly probe: HealthProbe;
  readonly intervalMs: number;
  last: Checked | undefined;
}

const order: readonly HealthState[] = ['healthy', 'unhealthy', 'down'];

/** The worse of two. */
export function worseOf(one: HealthState, other: HealthState): HealthState {
  return order.indexOf(one) >= order.indexOf(other) ? one : other;
}
