import type { DeadLetterHistory } from '../../src/model/dead-letter.ts';
import type { InRecord } from '../../src/model/record.ts';

/** A dead letter, read. */
export interface DeadLetter {
  readonly record: InRecord;
  readonly reason: string | undefined;
  readonly class: string | undefined;
  readonly origin: string | undefined;
  readonly attempts: number;
  readonly history: DeadLetterHistory;
}
