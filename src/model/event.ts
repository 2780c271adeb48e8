import { type Static, Type } from '@sinclair/typebox';

import { headerText, type RecordHeaders } from './record.ts';

/** The value of a record on `events`: Feishu's decrypted body with what Larkspur adds beside it. */
export const eventSchema = Type.Object(
  {
    id: Type.String({ description: 'The dedupe key of this event: event_id, uuid or message_id' }),
    type: Type.String(),
    app: Type.String(),
    tenant: Type.Optional(Type.String()),
    createdAtMs: Type.Integer({ minimum: 0 }),
    receivedAtMs: Type.Integer({ minimum: 0 }),
    via: Type.Union([Type.Literal('webhook'), Type.Literal('long-connection'), Type.Literal('larkspur')]),
    late: Type.Optional(Type.Boolean({ description: 'More than ten minutes old when it came, as after an outage' })),
    body: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The decrypted body; its verification token is masked',
    }),
  },
  { $id: 'https://larkspur.dev/schemas/event.schema.json', title: 'Event', additionalProperties: false },
);

/** One Feishu event. */
export type Event = Static<typeof eventSchema>;

/** What an event is called on its topic, by its CloudEvents headers: the same for all its deliveries. `undefined`: no event. */
export function eventName(headers: RecordHeaders): string | undefined {
  const parts = ['ce_source', 'ce_type', 'ce_id'].map((name) => headerText(headers, name));
  return parts.includes(undefined) ? undefined : parts.join(' ');
}
