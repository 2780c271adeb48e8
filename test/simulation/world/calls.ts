import type { PlannedCall } from '../plan.ts';

/** The bytes of a planned call, as a producer writes them. */
export function valueOf(call: PlannedCall): Buffer | null {
  switch (call.kind) {
    case 'tombstone':
      return null;
    case 'poison':
      return Buffer.from('{"path":');
    case 'message':
      return bytes(call, {
        path: '/open-apis/im/v1/messages',
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: call.chat, msg_type: 'text', content: '{"text":"hi"}' },
      });
    case 'reaction':
      return bytes(call, {
        path: '/open-apis/im/v1/messages/om_1/reactions',
        body: { reaction_type: { emoji_type: 'SMILE' } },
      });
    case 'read':
      return bytes(call, {
        method: 'GET',
        path: '/open-apis/im/v1/messages',
        query: { container_id: call.chat },
      });
    case 'post':
      return bytes(call, { upstream: 'news', path: '/orders', body: { n: 1 } });
    case 'get':
      return bytes(call, { upstream: 'news', path: '/articles' });
  }
}

function bytes({ id, ttlMs, retry, priority }: PlannedCall, request: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(
    JSON.stringify({
      id,
      ...request,
      ...(priority === 'normal' ? {} : { priority }),
      ...(ttlMs === undefined ? {} : { ttlMs: Math.ceil(ttlMs) }),
      ...(retry ? {} : { retry }),
    }),
  );
}
