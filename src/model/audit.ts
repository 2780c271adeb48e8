import type { OutRecord } from './record.ts';

/** A change that a person or a playbook made, as it stands on the topic `audit`. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** Who, as they named themselves. */
  readonly by: string;
  /** What was changed, e.g. `breaker/news`: the key of the record. */
  readonly what: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
}

/** The record of a change; changes of one thing keep their order. */
export function auditRecord(entry: AuditEntry): OutRecord {
  return { topic: 'audit', key: Buffer.from(entry.what), value: Buffer.from(JSON.stringify(entry)), headers: [] };
}
