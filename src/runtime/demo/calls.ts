import type { Call } from '../../model/call.ts';
import type { OutRecord } from '../../model/record.ts';
import type { Random } from '../../ports/random.ts';

/** One call of the demo, and by what the ledger and the results know it. */
export interface DemoCall {
  readonly id: string;
  /** Chat it is for: record key, ordering key of the ledger. */
  readonly chat: string;
  /** Number within its chat, from 0: the order in which the effects must come. */
  readonly n: number;
  /** Whether it changes something; a read leaves no trace in the ledger. */
  readonly writes: boolean;
  readonly record: OutRecord;
}

/** A chat with a first message that replies answer. */
export interface Chat {
  readonly id: string;
  readonly threadId: string;
  /** The app that serves it. */
  readonly app: string;
}

type Kind = 'message' | 'reply' | 'row' | 'read';

// Shares of a bot that mostly talks: each kind is an API of its own, with a quota of its own.
const shares: readonly (readonly [Kind, number])[] = [
  ['message', 0.45],
  ['reply', 0.2],
  ['row', 0.2],
  ['read', 0.15],
];
// A table takes one write at a time: with one table for all the rows would be the whole story.
const tables = 8;

/** Names of the chats of a run. A folder that is used again may hold calls of an earlier run: the names tell them apart. */
export function chatIds(run: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `oc_${run}_${String(i + 1).padStart(2, '0')}`);
}

/** `count` calls, dealt to the chats in turn, each of a kind that chance decides. */
export function demoCalls(run: string, count: number, chats: readonly Chat[], random: Random): DemoCall[] {
  return Array.from({ length: count }, (_, index) => {
    const at = index % chats.length;
    const chat = chats[at] ?? { id: '', threadId: '', app: '' };
    const n = Math.floor(index / chats.length);
    const kind = kindFor(random.next());
    const id = `${run}-${index + 1}`;
    const value = Buffer.from(JSON.stringify({ id, app: chat.app, ...callFor(kind, chat, n, at % tables) }));
    const record: OutRecord = { topic: 'calls', key: Buffer.from(chat.id), value, headers: [] };
    return { id, chat: chat.id, n, writes: kind !== 'read', record };
  });
}

function kindFor(chance: number): Kind {
  let left = chance;
  for (const [kind, share] of shares) {
    if (left < share) return kind;
    left -= share;
  }
  return 'message';
}

function callFor(kind: Kind, { id: chat, threadId }: Chat, n: number, table: number): Call {
  switch (kind) {
    case 'message':
      return {
        path: '/open-apis/im/v1/messages',
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: chat, ...text(`Parcel ${n} is on its way`, chat, n) },
      };
    case 'reply':
      return { path: `/open-apis/im/v1/messages/${threadId}/reply`, body: text(`Parcel ${n} was delivered`, chat, n) };
    case 'row':
      return {
        path: `/open-apis/bitable/v1/apps/bascnParcels/tables/tblRegion${table + 1}/records`,
        body: { fields: { key: chat, n, state: 'delivered' } },
      };
    case 'read':
      return { path: `/open-apis/contact/v3/users/ou_courier_${n}`, query: { user_id_type: 'open_id' } };
  }
}

/** A text message that carries the ledger's marker. */
function text(words: string, chat: string, n: number) {
  return { msg_type: 'text', content: JSON.stringify({ text: `${words} (n=${n}) key=${chat}` }) };
}
