import { jsonOf } from '../../model/json-levels.ts';
import { type Answer, failure, fieldFailure, ok } from '../http/answer.ts';
import type { ApiCall, Endpoint, Job } from '../http/job.ts';
import { markerOf } from '../ledger/marker.ts';
import type { World } from '../world.ts';

const receiverKinds = new Set(['chat_id', 'open_id', 'union_id', 'user_id', 'email']);
const messageKinds = new Set([
  'text',
  'post',
  'image',
  'file',
  'audio',
  'media',
  'sticker',
  'interactive',
  'share_chat',
  'share_user',
  'system',
]);
const longestTextBytes = 150 * 1024;
const longestCardBytes = 30 * 1024;
const longestUuid = 50;

interface Content {
  readonly kind: string;
  readonly text: string;
  readonly value: unknown;
  readonly uuid: string | undefined;
}

/** im/v1 messages: create, reply, patch, delete. */
export function messageEndpoints(world: World): Endpoint[] {
  const messages = '/open-apis/im/v1/messages';
  return [
    { api: 'im.message.create', method: 'POST', url: messages, accept: (call) => create(world, call) },
    { api: 'im.message.reply', method: 'POST', url: `${messages}/:id/reply`, accept: (call) => reply(world, call) },
    { api: 'im.message.patch', method: 'PATCH', url: `${messages}/:id`, accept: (call) => patch(world, call) },
    { api: 'im.message.delete', method: 'DELETE', url: `${messages}/:id`, accept: (call) => remove(world, call) },
  ];
}

function create(world: World, { grant, query, body }: ApiCall): Job | Answer {
  const kind = query['receive_id_type'];
  if (typeof kind !== 'string' || !receiverKinds.has(kind)) {
    return fieldFailure('receive_id_type', kind, `receive_id_type must be one of ${[...receiverKinds].join(', ')}`);
  }
  const receiver = (body as { receive_id?: unknown }).receive_id;
  if (typeof receiver !== 'string' || receiver === '') {
    return fieldFailure('receive_id', receiver, 'receive_id is required');
  }
  const content = contentOf(body as Readonly<Record<string, unknown>>);
  if ('status' in content) return content;
  return sending(world, grant.app, 'create', content, receiver, {});
}

function reply(world: World, { grant, params, body }: ApiCall): Job | Answer {
  const found = existing(world, params['id'] ?? '');
  if ('status' in found) return found;
  const content = contentOf(body as Readonly<Record<string, unknown>>);
  if ('status' in content) return content;
  const root = world.messages.idOf(found.seq);
  return sending(world, grant.app, 'reply', content, found.chat, { root_id: root, parent_id: root });
}

function sending(
  world: World,
  app: string,
  api: 'create' | 'reply',
  content: Content,
  chat: string,
  parents: object,
): Job {
  const inFlight = failure(400, 230049, 'The message is being sent, please do not send it again.');
  return {
    chat,
    ...(content.uuid !== undefined && { once: { key: `${app} ${api} ${content.uuid}`, inFlight } }),
    marker: markerOf(content.value, chat),
    act: (seq) => world.messages.add(seq, chat),
    answer: (seq, atMs) => {
      const time = String(world.clock.wall() - Math.round(world.clock.now() - atMs));
      return ok({
        message_id: world.messages.idOf(seq),
        ...parents,
        msg_type: content.kind,
        create_time: time,
        update_time: time,
        deleted: false,
        updated: false,
        chat_id: chat,
        sender: { id: app, id_type: 'app_id', sender_type: 'app' },
        body: { content: content.text },
      });
    },
  };
}

function patch(world: World, { params, body }: ApiCall): Job | Answer {
  const id = params['id'] ?? '';
  const found = existing(world, id);
  if ('status' in found) return found;
  const text = (body as { content?: unknown }).content;
  const value = typeof text === 'string' ? parsed(text) : undefined;
  if (value === undefined) return failure(400, 230001, 'Your request contains an invalid request parameter, content.');
  if (byteLength(text) > longestCardBytes)
    return failure(400, 230025, 'The length of the message content is too long.');
  return { chat: id, marker: markerOf(value, id), answer: () => ok({}) };
}

function remove(world: World, { params }: ApiCall): Job | Answer {
  const id = params['id'] ?? '';
  const found = existing(world, id);
  if ('status' in found) return found;
  return { marker: { key: id, n: undefined }, act: () => world.messages.remove(found.seq), answer: () => ok({}) };
}

function existing(world: World, id: string): { readonly seq: number; readonly chat: string } | Answer {
  const found = world.messages.find(id);
  if (found === undefined)
    return failure(400, 230001, 'Your request contains an invalid request parameter, message_id.');
  return found.isRemoved ? failure(400, 230011, 'The message was withdrawn.') : found;
}

function contentOf(body: Readonly<Record<string, unknown>>): Content | Answer {
  const { msg_type: kind, content: text, uuid } = body;
  if (uuid !== undefined && (typeof uuid !== 'string' || uuid.length > longestUuid)) {
    return fieldFailure('uuid', uuid, `the max length is ${longestUuid}`);
  }
  if (typeof kind !== 'string') return fieldFailure('msg_type', kind, 'msg_type is required');
  if (!messageKinds.has(kind)) {
    return failure(400, 230001, 'Your request contains an invalid request parameter, msg_type.');
  }
  if (typeof text !== 'string') return fieldFailure('content', text, 'content must be a string');
  if (byteLength(text) > (kind === 'text' ? longestTextBytes : longestCardBytes)) {
    return failure(400, 230025, 'The length of the message content is too long.');
  }
  const value = parsed(text);
  if (kind === 'interactive' && value === undefined) {
    return failure(400, 230099, 'Failed to create card content, ext=ErrCode: 200220; ErrMsg: json is invalid;');
  }
  if (value === undefined || (kind === 'text' && typeof (value as { text?: unknown }).text !== 'string')) {
    return failure(400, 230001, 'Your request contains an invalid request parameter, content is not valid JSON.');
  }
  return { kind, text, value, uuid: uuid === '' ? undefined : uuid };
}

/** The object in a content text, or `undefined` when it holds none. */
function parsed(text: string): object | undefined {
  const value = jsonOf(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function byteLength(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}
