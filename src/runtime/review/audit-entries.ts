import { map, type Observable, reduce } from 'rxjs';

import { type AuditEntry, isAuditEntry } from '../../model/audit.ts';
import { jsonOf } from '../../model/json-levels.ts';
import type { TopicReader } from '../../ports/topic-reader.ts';

// Who asks for years gets the newest of them.
const mostEntries = 10_000;

/** The changes on the topic `audit` from `from` to `to` (ISO 8601), oldest first, the newest 10,000. Emits once. */
export function auditEntries(
  reader: Pick<TopicReader, 'scan'>,
  from: string,
  to: string,
): Observable<readonly AuditEntry[]> {
  return reader.scan('audit').pipe(
    reduce<{ readonly value: Buffer | null }, AuditEntry[]>((kept, { value }) => {
      const entry = entryIn(value);
      if (entry !== undefined && entry.at >= from && entry.at <= to) kept.push(entry);
      if (kept.length > 2 * mostEntries) kept = newestOf(kept);
      return kept;
    }, []),
    map(newestOf),
  );
}

function newestOf(entries: readonly AuditEntry[]): AuditEntry[] {
  return entries.toSorted((a, b) => (a.at < b.at ? -1 : 1)).slice(-mostEntries);
}

function entryIn(value: Buffer | null): AuditEntry | undefined {
  const entry = jsonOf(value?.toString('utf8') ?? '');
  return isAuditEntry(entry) ? entry : undefined;
}
