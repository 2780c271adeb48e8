const chats = 40;

/** The chat of the n-th message: each of forty in turn. */
export const chatOf = (n: number): string => `oc_${n % chats}`;

/** The n-th message, with the marker that the sandbox's ledger knows it by. */
export function messageFor(n: number) {
  const chat = chatOf(n);
  const text = JSON.stringify({ text: `key=${chat} n=${n}` });
  return {
    path: '/open-apis/im/v1/messages',
    query: { receive_id_type: 'chat_id' },
    body: { receive_id: chat, msg_type: 'text', content: text },
  };
}
