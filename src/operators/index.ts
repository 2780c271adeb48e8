export {
  adaptiveBreaker,
  type AdaptiveBreakerOptions,
  type AttemptEnding,
  BreakerOpenError,
} from './breaker/circuit-breaker.ts';
export { Breaker } from './breaker/breaker.ts';
export { BreakerRegistry, type BreakerRegistryOptions } from './breaker/breaker-registry.ts';
export {
  type AdaptiveOptions,
  breakerDefaults,
  type BreakerOptions,
  slowBucketBreakerDefaults,
} from './breaker/options.ts';
export type { BreakerSnapshot, BreakerState, ForcedState, Permit, Refusal } from './breaker/permit.ts';
export { SlidingWindow, type SlidingWindowOptions } from './breaker/sliding-window.ts';
export {
  AdaptiveConcurrency,
  adaptiveConcurrencyDefaults,
  type AdaptiveConcurrencyOptions,
} from './bulkhead/adaptive-concurrency.ts';
export { Bulkhead, type BulkheadOptions } from './bulkhead/bulkhead.ts';
export { Demand } from './demand.ts';
export { FaultyUpstream, InjectedFaults } from './fault/faulty-upstream.ts';
export { injectFault, type InjectOptions } from './fault/inject-fault.ts';
export { type Fallback, fallbackFor } from './fallback/fallback-for.ts';
export { fallbackDefaults, type FallbackOptions } from './fallback/options.ts';
export { mergeMapBounded, type MergeMapBoundedOptions } from './lanes/merge-map-bounded.ts';
export { CoolDowns } from './limit/cool-down.ts';
export { ExactLog } from './limit/exact-log.ts';
export { QuotaBook, type QuotaBookOptions } from './limit/quota-book.ts';
export { type BudgetOptions, holdStepsMs, type Jitter, retryDefaults, type RetryOptions } from './retry/options.ts';
export { askedWaitMs, spreadWaitMs, unnamedWaitMs } from './retry/retry-after.ts';
export { RetryBudget } from './retry/retry-budget.ts';
export { type HoldWhy, RetryPlan, type RetryState, type Step } from './retry/retry-plan.ts';
export { retryWithBackoff, type RetryWithBackoffOptions } from './retry/retry-with-backoff.ts';
export { Ring } from './ring/ring.ts';
export { ringBuffer } from './ring/ring-buffer.ts';
export { RingSet, type RingSetOptions } from './ring/ring-set.ts';
export type { RingStats } from './ring/ring-stats.ts';
export { watermarkDefaults, type WatermarkOptions } from './ring/watermarks.ts';
export { attemptTimeoutMs, deadlineOf, defaultTtlMs } from './timeout/deadline.ts';
export { refreshAtMs, refreshPauseMs, type TokenLife, usable } from './token/token-age.ts';
