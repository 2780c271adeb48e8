import type { Tree } from '../../model/schema-words.ts';

import { valueAt } from './read-event.ts';

// From the most to the least telling. Events of one chat keep their order, as do those of one approval or document; what
// is about none of them keeps the order of its user.
const chats = ['message.chat_id', 'chat_id', 'open_chat_id', 'context.open_chat_id'];
const things = [
  'context.open_message_id',
  'open_message_id',
  'message_id',
  'instance_code',
  'file_token',
  'app_token',
  'task_id',
  'task_guid',
  'meeting.id',
  'calendar_id',
  'calendar_event_id',
  'object.open_department_id',
  'object.department_id',
  'department_id',
  'node_token',
  'space_id',
];
const users = [
  'open_id',
  'operator.open_id',
  'operator.operator_id.open_id',
  'operator_id.open_id',
  'sender.sender_id.open_id',
  'reader.reader_id.open_id',
  'user_id.open_id',
  'user.open_id',
  'object.open_id',
];

const splitAll = (paths: readonly string[]) => paths.map((path) => path.split('.'));
const subjects = [...splitAll(chats), ...splitAll(things), ...splitAll(users)];
const actors = splitAll(users);

/** What an event is about: chat, else document, approval or the like, else user. `undefined`: nothing that keeps an order. */
export function subjectOf(event: Tree): string | undefined {
  return firstText(event, subjects);
}

/** The user who made the event come about, or whom it is about: an `open_id`. */
export function openIdOf(event: Tree): string | undefined {
  return firstText(event, actors);
}

function firstText(event: Tree, paths: readonly (readonly string[])[]): string | undefined {
  for (const path of paths) {
    const value = valueAt(event, path);
    if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) return value;
  }
  return undefined;
}
