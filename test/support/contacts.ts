import { type BenchOptions, PipelineBench } from './pipeline-bench.ts';
import type { Reply, SeenAttempt } from './scripted-upstream.ts';

const users = '/open-apis/contact/v3/users';

/** Reads one contact. */
export function contact(id: string, more: Readonly<Record<string, unknown>> = {}, user = `ou_${id}`) {
  return { id, method: 'GET', path: `${users}/${user}`, ...more };
}

/** Ids of the users that an attempt asks for together; `undefined`: it asks for one. */
export function askedTogether({ path }: Pick<SeenAttempt, 'path'>): readonly string[] | undefined {
  const { pathname, searchParams } = new URL(path, 'http://feishu');
  return pathname === `${users}/batch` ? searchParams.getAll('user_ids') : undefined;
}

/** How many calls each attempt was for. */
export function sizes(attempts: readonly SeenAttempt[]): number[] {
  return attempts.map((attempt) => askedTogether(attempt)?.length ?? 1);
}

/** Feishu's contacts: whoever has `hidden` in the id is outside of the range, `bad` is no id at all. */
export function contactsScript(attempt: Pick<SeenAttempt, 'path'>): Reply {
  const together = askedTogether(attempt);
  const ids = together ?? [decodeURIComponent(new URL(attempt.path, 'http://feishu').pathname.split('/').at(-1) ?? '')];
  if (ids.some((id) => id.includes('bad'))) return { status: 400, body: { code: 99992351, msg: 'not a valid id' } };
  const found = ids.filter((id) => !id.includes('hidden')).map((id) => ({ open_id: id, name: `User ${id}` }));
  if (together !== undefined) return { body: { code: 0, msg: 'success', data: { items: [...found].reverse() } } };
  return found.length === 0
    ? { status: 400, body: { code: 41050, msg: 'no user authority error' } }
    : { body: { code: 0, msg: 'success', data: { user: found[0] } } };
}

const tight = { batching: true, limits: [{ limit: 2, windowMs: 1_000 }] };

/** A bench with Feishu's contacts at two starts per second. */
export function contacts(feishu: BenchOptions['upstreams'] = {}, more: BenchOptions = {}): PipelineBench {
  const bench = new PipelineBench({ ...more, upstreams: { feishu: { ...tight, ...feishu['feishu'] } } });
  bench.upstream().script = contactsScript;
  return bench;
}

/** Asks for so many of them. */
export const ask = (bench: PipelineBench, count: number, more: Readonly<Record<string, unknown>> = {}): void => {
  for (let n = 0; n < count; n++) bench.call(contact(`c-${n}`, more));
};

/** Together: what `reply` says; one by one: as it is. */
export const togetherFails =
  (reply: Reply, times = Infinity) =>
  (attempt: SeenAttempt): Reply => {
    if (askedTogether(attempt) === undefined || times <= 0) return contactsScript(attempt);
    times -= 1;
    return reply;
  };

/** The first two starts went alone; what waited goes with the third. */
export const togetherMs = 1_100;

/** What became of each call, by its id. */
export const outcomes = (bench: PipelineBench) =>
  new Map<string | undefined, readonly unknown[]>([
    ...bench.results.map(({ id, status, response }) => [id, [status, response?.status, response?.body]] as const),
    ...bench.deadLetters.map(({ history: { id }, reason }) => [id, [reason]] as const),
  ]);
