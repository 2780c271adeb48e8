import type { Call } from '../call.ts';
import { deadLetterHeaders, type DeadLetterHistory, firstOrigin, roundOf } from '../dead-letter.ts';
import { jsonOf } from '../json-levels.ts';
import { headerText, type InRecord } from '../record.ts';
import type { Attempt } from '../result.ts';
import { isoTime } from '../time.ts';

/**
 * One dead letter as people filter and group it. What costs something is read when it is asked for: of a million most
 * are only counted.
 */
export class DeadLetterView {
  readonly record: InRecord;
  readonly reason: string;
  readonly class: string;
  #history: Partial<DeadLetterHistory> | undefined;
  #call: Partial<Call> | undefined;

  constructor(record: InRecord) {
    this.record = record;
    this.reason = headerText(record.headers, deadLetterHeaders.reason) ?? 'unknown';
    this.class = headerText(record.headers, deadLetterHeaders.class) ?? 'none';
  }

  /** `dead-letters/PARTITION/OFFSET`. */
  get at(): string {
    return `${this.record.topic}/${this.record.partition}/${this.record.offset}`;
  }

  /** What the worker wrote about its end; empty where the header is missing or damaged. */
  get history(): Partial<DeadLetterHistory> {
    return (this.#history ??= objectIn(headerText(this.record.headers, deadLetterHeaders.history)));
  }

  /** The value as far as it is a JSON object, which that of an `undecodable` one is not. */
  get call(): Partial<Call> {
    return (this.#call ??= objectIn(this.record.value?.toString('utf8')));
  }

  /** What names the call when it is sent again: to its claim, in results, in requests. */
  get id(): string | undefined {
    return textOf(this.call.id) ?? firstOrigin(this.record) ?? this.history.id;
  }

  get upstream(): string {
    return this.history.upstream ?? textOf(this.call.upstream) ?? 'feishu';
  }

  get tenant(): string {
    return textOf(this.call.tenant) ?? '';
  }

  get app(): string {
    return textOf(this.call.app) ?? '';
  }

  get path(): string {
    return textOf(this.call.path) ?? '';
  }

  get key(): string {
    return this.record.key?.toString('utf8') ?? '';
  }

  /** The attempts that its history tells. */
  get attempts(): readonly Attempt[] {
    const { attempts } = this.history;
    return Array.isArray(attempts) ? attempts : [];
  }

  /** What the last attempt was answered: the body's own code, else the HTTP status, else nothing. */
  get code(): string {
    return codeOf(this.attempts);
  }

  /** How often a person has sent it again before it came here. */
  get round(): number {
    return roundOf(this.record);
  }

  /** When it ended, epoch milliseconds, as the topic tells. */
  get endedMs(): number {
    return this.record.timestampMs;
  }

  /** To the hour, for groups. */
  get hour(): string {
    return `${isoTime(this.endedMs).slice(0, 13)}:00Z`;
  }

  /** To the day, for groups. */
  get day(): string {
    return isoTime(this.endedMs).slice(0, 10);
  }

  /** Whether its own deadline has passed, so that it would end again at once. A `ttlMs` counts anew. */
  isTooLate(wallMs: number): boolean {
    // The word stands in the bytes of few: those of all others need not be parsed.
    if (this.record.value?.includes('"deadline"') !== true) return false;
    const { deadline } = this.call;
    // eslint-disable-next-line no-restricted-globals -- Date.parse reads no clock
    const untilMs = typeof deadline === 'string' ? Date.parse(deadline) : deadline;
    return typeof untilMs === 'number' && untilMs <= wallMs;
  }
}

/** What the last of some attempts was answered: the body's own code, else the HTTP status, else nothing. */
export function codeOf(attempts: readonly Attempt[]): string {
  const last = attempts.at(-1);
  return String(last?.code ?? last?.status ?? '');
}

// Whatever stands there: the fields are looked at one by one, and each is checked where it matters.
function objectIn(text: string | undefined): object {
  const value = jsonOf(text ?? '');
  return typeof value === 'object' && value !== null ? value : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
