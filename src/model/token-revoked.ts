import type { Event } from './event.ts';
import type { OutRecord } from './record.ts';

/** Type of the event that says that a user's consent is over. */
export const tokenRevokedType = 'token.revoked';

/** The record that tells everybody on `events` that calls as this user end as `auth_failed` until the user consents anew. */
export function tokenRevoked(app: string, openId: string, reason: string, wallMs: number): OutRecord {
  const id = `${tokenRevokedType}/${openId}/${wallMs}`;
  const event: Event = {
    ...{ id, type: tokenRevokedType, app, createdAtMs: wallMs, receivedAtMs: wallMs, via: 'larkspur' },
    body: { event: { open_id: openId, reason } },
  };
  const headers = {
    'x-feishu-openid': openId,
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: `/feishu/${app}`,
    ce_type: tokenRevokedType,
    'content-type': 'application/json',
  };
  return {
    topic: 'events',
    key: Buffer.from(openId),
    value: Buffer.from(JSON.stringify(event)),
    headers: Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)]),
  };
}
