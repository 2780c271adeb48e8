import type { Verdict } from '../model/outcome.ts';
import { type HotKey, HotKeys } from '../operators/cache/hot-keys.ts';
import type { Clock } from '../ports/clock.ts';
import type { Counter, Histogram, Metrics } from '../ports/metrics.ts';
import type { LimitKey } from '../ports/profile.ts';

import { gauges, type Observed } from './gauges.ts';
import type { Decoded, Ending, Job } from './job.ts';
import { RetryHeat } from './retry-heat.ts';

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.8, 1, 2.5, 5, 10, 30, 60];
/** The pipeline's metrics. Gauges read the decisions when somebody scrapes; the hot path only counts. */
export class Instruments {
  readonly #ended: Counter;
  readonly #attempts: Counter;
  readonly #attemptSeconds: Histogram;
  readonly #totalSeconds: Histogram;
  readonly #retries: Counter;
  readonly #retrySeconds: Histogram;
  readonly #held: Counter;
  readonly #superseded: Counter;
  readonly #known: Counter;
  readonly #reads: Counter;
  readonly #readKeys = new Map<string, HotKeys>();
  readonly #quotaGrants: Counter;
  readonly #quotaRefusals: Counter;
  readonly #quotaSeconds: Histogram;
  readonly #batchCalls: Histogram;
  readonly #clock: Clock;
  readonly #listeners: ((item: Decoded, ending: Ending) => void)[] = [];
  /** Retries of the last day, for who looks at them. */
  readonly retryHeat = new RetryHeat();

  constructor(metrics: Metrics, observed: Observed) {
    this.#clock = observed.clock;
    this.#ended = metrics.counter('larkspur_records_ended_total', 'Records with a terminal record, by how they ended', [
      'upstream',
      'ending',
      'reason',
    ]);
    this.#attempts = metrics.counter('larkspur_attempts_total', 'Attempts by class of their outcome', [
      'upstream',
      'class',
    ]);
    this.#attemptSeconds = metrics.histogram('larkspur_attempt_seconds', 'Time of one attempt', ['upstream'], seconds);
    this.#totalSeconds = metrics.histogram(
      'larkspur_call_seconds',
      'Time from reading a record to its durable end',
      ['upstream'],
      seconds,
    );
    this.#retries = metrics.counter(
      'service_retry_total',
      'Repeated attempts, by what the attempt before them ended with',
      ['service', 'status_code', 'error_type'],
    );
    this.#retrySeconds = metrics.histogram(
      'service_retry_latency_seconds',
      'Time of repeated attempts; attempt_number 1 is the first retry',
      ['service', 'attempt_number'],
      seconds,
    );
    this.#held = metrics.counter('larkspur_held_total', 'Calls that went to a delay topic, by what they wait for', [
      'upstream',
      'why',
    ]);
    this.#superseded = metrics.counter(
      'larkspur_superseded_total',
      'Answers that came after somebody else took the call over',
      ['upstream'],
    );
    this.#known = metrics.counter(
      'larkspur_records_known_total',
      'Records that were read again although an earlier owner had finished them, as its commit tells',
      [],
    );
    this.#reads = metrics.counter('larkspur_reads_total', 'Reads at an upstream with a read cache, by what answered', [
      'upstream',
      'tier',
    ]);
    const bucket = ['upstream', 'bucket'];
    this.#quotaGrants = metrics.counter('larkspur_quota_grants_total', 'Starts that drew from a bucket', bucket);
    this.#quotaRefusals = metrics.counter('larkspur_quota_refusals_total', 'Starts that the upstream refused', bucket);
    this.#quotaSeconds = metrics.histogram(
      'larkspur_quota_wait_seconds',
      'Time that a start waited for quota',
      ['upstream'],
      seconds,
    );
    this.#batchCalls = metrics.histogram(
      'larkspur_batch_calls',
      'Calls that went in one request because there was not quota for each',
      ['upstream'],
      [2, 5, 10, 20, 35, 50],
    );
    gauges(metrics, observed);
  }

  /** One attempt was judged; `ms` is how long it took. To be called before it is added to the job's history. */
  attempted(job: Job, verdict: Verdict, ms: number): void {
    const service = job.destination.name;
    this.#attempts.add({ upstream: service, class: verdict.class });
    const traceId = job.received.trace?.traceId;
    this.#attemptSeconds.observe({ upstream: service }, ms / 1_000, traceId);
    const last = job.lastVerdict;
    job.lastVerdict = verdict;
    if (last === undefined) return;
    this.#retries.add({ service, status_code: String(last.status ?? 0), error_type: last.errorType });
    this.retryHeat.count(this.#clock.wall(), job.attemptsMade);
    const number = job.attemptsMade > 5 ? '6+' : String(job.attemptsMade);
    this.#retrySeconds.observe({ service, attempt_number: number }, ms / 1_000, traceId);
  }

  /** An attempt drew from its buckets. @param waitedMs how long it had waited for them right before */
  drewQuota({ destination: { name }, plan: { limits } }: Job, waitedMs: number): void {
    const [first] = limits;
    if (first?.label === undefined || first.windows.length === 0) return;
    this.#quotaGrants.add({ upstream: name, bucket: first.label });
    if (waitedMs > 0) this.#quotaSeconds.observe({ upstream: name }, waitedMs / 1_000);
  }

  /** So many calls went in one request. */
  wentTogether({ destination: { name } }: Job, calls: number): void {
    this.#batchCalls.observe({ upstream: name }, calls);
  }

  /** The upstream refused a start of this bucket. */
  quotaRefused({ destination: { name } }: Job, { label }: LimitKey): void {
    this.#quotaRefusals.add({ upstream: name, bucket: label ?? 'other' });
  }

  /** Calls back for each record that has ended, or left for a delay topic. */
  onSettled(listener: (item: Decoded, ending: Ending) => void): void {
    this.#listeners.push(listener);
  }

  /** A record's terminal record is durable, or its record in a delay topic. */
  settled(item: Decoded, ending: Ending): void {
    for (const listener of this.#listeners) listener(item, ending);
    const upstream = item.kind === 'call' ? item.destination.name : 'none';
    if (ending.kind === 'held') {
      this.#held.add({ upstream, why: ending.why });
      return;
    }
    const reason =
      ending.kind === 'dead-letter' ? ending.reason : ending.kind === 'result' ? ending.result.status : 'none';
    this.#ended.add({ upstream, ending: ending.kind, reason });
    const { readAtMs, trace } = item.received;
    this.#totalSeconds.observe({ upstream }, (this.#clock.now() - readAtMs) / 1_000, trace?.traceId);
  }

  /** A read where answers are kept: from this process, from what all processes share, or live. */
  read({ destination: { name }, call, plan }: Job, tier: 'memory' | 'shared' | 'live'): void {
    this.#reads.add({ upstream: name, tier });
    let keys = this.#readKeys.get(name);
    if (keys === undefined) this.#readKeys.set(name, (keys = new HotKeys()));
    // The path as it was called: what is asked so often is one page, not one of many.
    keys.count(`${plan.api.split(' ', 1)[0] ?? ''} ${call.path}`, this.#clock.now());
  }

  /** What most reads of an upstream with a read cache are about. */
  hotReads(): readonly (HotKey & { readonly where: string })[] {
    const nowMs = this.#clock.now();
    return [...this.#readKeys].flatMap(([name, keys]) =>
      keys.hot(nowMs).map((key) => ({ where: `reads ${name}`, ...key })),
    );
  }

  /** A record came again that an earlier owner had finished. */
  known(): void {
    this.#known.add({});
  }

  /** A claim was finished by somebody else meanwhile. */
  superseded(job: Job): void {
    this.#superseded.add({ upstream: job.destination.name });
  }
}
