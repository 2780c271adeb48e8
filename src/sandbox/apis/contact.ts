import { type Answer, failure, fieldFailure, ok } from '../http/answer.ts';
import type { ApiCall, Endpoint, Job } from '../http/job.ts';

const mostIds = 50;
const idKinds = new Set(['open_id', 'union_id', 'user_id']);

/** contact/v3 users: batch and one. Ids with `missing` in them lie outside the contact range. */
export function contactEndpoints(): Endpoint[] {
  const users = '/open-apis/contact/v3/users';
  return [
    { api: 'contact.user.batch', method: 'GET', url: `${users}/batch`, accept: batch },
    { api: 'contact.user.get', method: 'GET', url: `${users}/:id`, accept: one },
  ];
}

function batch({ query }: ApiCall): Job | Answer {
  const kindFailure = failureOfKind(query['user_id_type']);
  if (kindFailure !== undefined) return kindFailure;
  const given = query['user_ids'] ?? [];
  const ids = typeof given === 'string' ? [given] : given;
  if (ids.length === 0) return fieldFailure('user_ids', '', 'user_ids is required');
  if (ids.length > mostIds) return fieldFailure('user_ids', '', `the max len is ${mostIds}`);
  return { answer: () => ok({ items: ids.filter(isInRange).map((id) => user(id, query['user_id_type'])) }) };
}

function one({ params, query }: ApiCall): Job | Answer {
  const id = params['id'] ?? '';
  const kindFailure = failureOfKind(query['user_id_type']);
  if (kindFailure !== undefined) return kindFailure;
  if (!isInRange(id)) return failure(400, 41050, 'no user authority error');
  return { answer: () => ok({ user: user(id, query['user_id_type']) }) };
}

function failureOfKind(kind: unknown): Answer | undefined {
  if (kind === undefined || (typeof kind === 'string' && idKinds.has(kind))) return undefined;
  return fieldFailure('user_id_type', kind, `user_id_type must be one of ${[...idKinds].join(', ')}`);
}

function isInRange(id: string): boolean {
  return !id.includes('missing');
}

function user(id: string, kind: unknown): object {
  const open = kind === 'union_id' ? id.replace(/^on_/, '') : kind === 'user_id' ? `ou_${id}` : id;
  return {
    open_id: open,
    union_id: kind === 'union_id' ? id : `on_${open}`,
    ...(kind === 'user_id' ? { user_id: id } : {}),
    name: `User ${id}`,
    gender: 0,
    department_ids: ['0'],
    status: { is_frozen: false, is_resigned: false, is_activated: true, is_exited: false, is_unjoin: false },
  };
}
