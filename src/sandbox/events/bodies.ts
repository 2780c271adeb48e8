import type { EventTarget } from './seal.ts';

/** One event to be sent: its body, and what it is about. */
export interface SandboxEvent {
  readonly id: string;
  readonly subject: string;
  readonly body: unknown;
}

/** What an event is made from. */
export interface EventSeed {
  /** Number of the event; stands in its text. */
  readonly n: number;
  /** Chat, or approval instance in schema 1.0. */
  readonly subject: string;
  readonly wallMs: number;
  /** Makes ids differ from those of another run. */
  readonly salt: string;
}

const tenant = 'tenant_sandbox';
type From = Pick<EventTarget, 'app' | 'verificationToken'>;

/** A text message that somebody wrote in a chat: `im.message.receive_v1`, schema 2.0. */
export function messageEvent({ app, verificationToken = '' }: From, seed: EventSeed): SandboxEvent {
  const { n, subject, wallMs, salt } = seed;
  const id = `om_${salt}${n}`;
  const time = String(Math.floor(wallMs));
  const body = {
    schema: '2.0',
    header: {
      event_id: `ev_${salt}${n}`,
      event_type: 'im.message.receive_v1',
      create_time: time,
      token: verificationToken,
      app_id: app,
      tenant_key: tenant,
    },
    event: {
      sender: {
        sender_id: { union_id: 'on_sandbox', open_id: `ou_${n % 100}` },
        sender_type: 'user',
        tenant_key: tenant,
      },
      message: {
        message_id: id,
        create_time: time,
        update_time: time,
        chat_id: subject,
        chat_type: 'group',
        message_type: 'text',
        content: JSON.stringify({ text: `n=${n}` }),
      },
    },
  };
  return { id, subject, body };
}

/** A step of an approval: `approval_instance`, schema 1.0. */
export function approvalEvent({ app, verificationToken = '' }: From, seed: EventSeed): SandboxEvent {
  const { n, subject, wallMs, salt } = seed;
  const id = `uuid-${salt}${n}`;
  const body = {
    ts: (wallMs / 1_000).toFixed(6),
    uuid: id,
    token: verificationToken,
    type: 'event_callback',
    event: {
      type: 'approval_instance',
      app_id: app,
      tenant_key: tenant,
      approval_code: 'A-1',
      instance_code: subject,
      status: 'PENDING',
      operate_time: String(Math.floor(wallMs)),
      uuid: 'business-uuid',
    },
  };
  return { id, subject, body };
}

/** A press on a button of a card: `card.action.trigger`. */
export function cardAction(
  { app, verificationToken = '' }: From,
  { n, subject, wallMs, salt }: EventSeed,
  value: unknown,
): SandboxEvent {
  const id = `card_${salt}${n}`;
  const body = {
    schema: '2.0',
    header: {
      event_id: id,
      event_type: 'card.action.trigger',
      create_time: `${Math.floor(wallMs)}000`,
      token: verificationToken,
      app_id: app,
      tenant_key: tenant,
    },
    event: {
      operator: { tenant_key: tenant, open_id: 'ou_1', union_id: 'on_sandbox' },
      token: `c-${salt}${n}`,
      action: { value, tag: 'button' },
      host: 'im_message',
      context: { open_message_id: `om_${salt}card`, open_chat_id: subject },
    },
  };
  return { id, subject, body };
}

/** The ticket of a store app. */
export function ticketBody(
  { app, verificationToken = '' }: From,
  ticket: string,
  { n, wallMs, salt }: EventSeed,
): unknown {
  return {
    ...{
      ts: (wallMs / 1_000).toFixed(6),
      uuid: `ticket-${salt}${n}`,
      token: verificationToken,
      type: 'event_callback',
    },
    event: { type: 'app_ticket', app_id: app, app_ticket: ticket },
  };
}

/** The end of a user's consent. */
export function revokedBody(
  { app, verificationToken = '' }: From,
  openId: string,
  { n, wallMs, salt }: EventSeed,
): unknown {
  return {
    schema: '2.0',
    header: {
      event_id: `revoked-${salt}${n}`,
      event_type: 'auth.user_access_token.revoked_v4',
      create_time: String(Math.floor(wallMs)),
      token: verificationToken,
      app_id: app,
      tenant_key: tenant,
    },
    event: { user_id: { open_id: openId }, revoke_token_type: 'user_access_token', revoke_reason: 'unbind' },
  };
}

/** What Feishu sends when an address is saved. */
export function challengeBody({ verificationToken = '' }: From, challenge: string): unknown {
  return { challenge, token: verificationToken, type: 'url_verification' };
}
