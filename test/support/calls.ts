/** A message to a chat: an API with an idempotency key, 50/s and 5/s per chat. */
export function send(id: string | undefined, chat = 'oc_1', more: Readonly<Record<string, unknown>> = {}) {
  return {
    ...(id === undefined ? {} : { id }),
    path: '/open-apis/im/v1/messages',
    query: { receive_id_type: 'chat_id' },
    body: { receive_id: chat, msg_type: 'text', content: '{"text":"hi"}' },
    ...more,
  };
}

/** Reads messages: may be repeated freely, 50/s and 1000/min. */
export function read(id: string, more: Readonly<Record<string, unknown>> = {}) {
  return { id, method: 'GET', path: '/open-apis/im/v1/messages', query: { container_id: 'oc_1' }, ...more };
}

/** Reacts to a message: a POST without key that must never be repeated after an unknown outcome. */
export function react(id: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    id,
    path: '/open-apis/im/v1/messages/om_1/reactions',
    body: { reaction_type: { emoji_type: 'SMILE' } },
    ...more,
  };
}

/** A GET of the plain upstream `news`. */
export function news(id: string, more: Readonly<Record<string, unknown>> = {}) {
  return { id, upstream: 'news', path: `/articles/${id}`, ...more };
}
