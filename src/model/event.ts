import { type Static, Type } from '@sinclair/typebox';

/** The value of a record on `events`: Feishu's decrypted body with what Larkspur adds beside it. */
export const eventSchema = Type.Object(
  {
    id: Type.String({ description: 'The dedupe key of this event: event_id, uuid or message_id' }),
    type: Type.String(),
    app: Type.String(),
    tenant: Type.Optional(Type.String()),
    createdAtMs: Type.Integer({ minimum: 0 }),
    receivedAtMs: Type.Integer({ minimum: 0 }),
    via: Type.Union([Type.Literal('webhook'), Type.Literal('long-connection')]),
    late: Type.Optional(Type.Boolean({ description: 'More than ten minutes old when it came, as after an outage' })),
    body: Type.Record(Type.String(), Type.Unknown(), { description: 'The raw decrypted body, untouched' }),
  },
  { $id: 'https://larkspur.dev/schemas/event.schema.json', title: 'Event', additionalProperties: false },
);

/** One Feishu event. */
export type Event = Static<typeof eventSchema>;
