import { type Static, Type } from '@sinclair/typebox';

import type { OutRecord } from './record.ts';
import { isTree } from './schema-words.ts';

/** The value of a record on `audit`. */
export const auditEntrySchema = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    by: Type.String({ description: 'Who, as they named themselves' }),
    what: Type.String({
      description: 'What was changed, e.g. breaker/news or redrive/after-the-outage: the key of the record',
    }),
    from: Type.Unknown({ description: 'What it was before' }),
    to: Type.Unknown({ description: 'What it is since' }),
    reason: Type.Optional(Type.String()),
    requestId: Type.Optional(Type.String()),
  },
  { $id: 'https://larkspur.dev/schemas/audit-entry.schema.json', title: 'AuditEntry', additionalProperties: false },
);

/** A change that a person or a playbook made, as it stands on the topic `audit`. */
export type AuditEntry = Static<typeof auditEntrySchema>;

/** A change to be written down; what is `undefined` is left out. */
type Change = Omit<AuditEntry, 'reason' | 'requestId'> & {
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
};

/** The record of a change; changes of one thing keep their order. */
export function auditRecord(entry: Change): OutRecord {
  return { topic: 'audit', key: Buffer.from(entry.what), value: Buffer.from(JSON.stringify(entry)), headers: [] };
}

/** Whether a value is a change as it stands on `audit`. */
export function isAuditEntry(value: unknown): value is AuditEntry {
  return isTree(value) && ['at', 'by', 'what'].every((name) => typeof value[name] === 'string');
}
