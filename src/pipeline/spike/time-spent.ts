import type { Verdict } from '../../model/outcome.ts';
import { type Cause, type CauseMs, causes, noCauseMs } from '../../model/spike.ts';
import type { Received } from '../received.ts';
import type { StageName, WaitReason } from '../waits.ts';

const ofWait = {
  'upstream-slots': 'slots',
  'rate-limit': 'limiter',
  'half-hour': 'limiter',
  breaker: 'breaker',
  paused: 'breaker',
  retry: 'retry',
  claim: 'claim',
  token: 'token',
  brake: 'retry',
  order: 'order',
  'full-lane': 'queue',
} as const satisfies Record<WaitReason, Cause>;

const ofStage = {
  claim: 'claim',
  token: 'token',
  slot: 'slots',
  limit: 'limiter',
} as const satisfies Record<StageName, Cause>;

// How an attempt fails that never got as far as the upstream's own doing.
const networkErrors: ReadonlySet<string> = new Set([
  'refused',
  'dns',
  'connect_timeout',
  'tls',
  'certificate',
  'reset',
]);

/**
 * What the time of one call went by with; where its trace is kept, each part becomes a span. A wait before a retry belongs to
 * what made the retry necessary. Times are monotonic milliseconds.
 */
export class TimeSpent {
  /** When the wait began that the call brought with it out of a delay topic; what was before that is counted where it left. */
  visitFromMs: number | undefined;
  /** When its end was decided: from then on it is only written. */
  endsAtMs: number | undefined;
  serverErrors = 0;
  networkErrors = 0;
  readonly #received: Pick<Received, 'readAtMs' | 'trace'>;
  #causeMs: Record<Cause, number> | undefined;
  #failedBy: Cause | undefined;
  #hasLeftBuffers = false;

  constructor(received: Pick<Received, 'readAtMs' | 'trace'>) {
    this.#received = received;
  }

  get causeMs(): CauseMs {
    return (this.#causeMs ??= noCauseMs());
  }

  /** It has left the buffers, or found what it waits for: until then it was only read. */
  leftBuffers(atMs: number): void {
    if (this.#hasLeftBuffers) return;
    this.#hasLeftBuffers = true;
    const { readAtMs, trace } = this.#received;
    if (this.visitFromMs !== undefined) return;
    this.#add('queue', atMs - readAtMs);
    trace?.stage('receive', readAtMs, atMs);
  }

  /** Something that it could not go on without took time, other than a wait in its lane. */
  stage(name: StageName, fromMs: number, toMs: number): void {
    this.#add(ofStage[name], toMs - fromMs);
    this.#received.trace?.stage(name, fromMs, toMs);
  }

  /** A wait in its lane, or outside, is over. */
  waited(what: WaitReason, fromMs: number, toMs: number): void {
    this.#add(what === 'retry' ? (this.#failedBy ?? 'retry') : ofWait[what], toMs - fromMs);
    this.#received.trace?.stage(`wait ${what}`, fromMs, toMs);
  }

  /** An attempt is over. */
  attempted(verdict: Pick<Verdict, 'class' | 'status' | 'errorType'>, ms: number): void {
    const { status, errorType } = verdict;
    if (status !== undefined && status >= 500) {
      this.#failedBy = 'server-errors';
      this.serverErrors++;
    } else if (status === undefined && networkErrors.has(errorType)) {
      this.#failedBy = 'network';
      this.networkErrors++;
    } else this.#failedBy = verdict.class === 'success' ? undefined : 'upstream';
    this.#add(this.#failedBy ?? 'upstream', ms);
  }

  /** Its end is durable. */
  written(atMs: number): void {
    if (this.endsAtMs !== undefined) this.#add('write', atMs - this.endsAtMs);
  }

  /**
   * All is over; called once. What nothing accounts for has a cause of its own.
   * @param inTopicMs how long its record stood in its topic before it was read
   * @returns the whole time: from when the record came into its topic, or from when its wait outside began
   */
  ended(atMs: number, inTopicMs: number): number {
    const before = this.visitFromMs === undefined ? Math.max(0, inTopicMs) : 0;
    this.#add('queue', before);
    const totalMs = atMs - (this.visitFromMs ?? this.#received.readAtMs) + before;
    let knownMs = 0;
    for (const cause of causes) knownMs += this.causeMs[cause];
    this.#add('other', totalMs - knownMs);
    return totalMs;
  }

  #add(cause: Cause, ms: number): void {
    const all = (this.#causeMs ??= noCauseMs());
    if (ms > 0) all[cause] += ms;
  }
}
