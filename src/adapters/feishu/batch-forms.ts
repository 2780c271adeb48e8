import { type Call, methodOf } from '../../model/call.ts';
import { jsonOf } from '../../model/json-levels.ts';
import type { Exchange } from '../../model/outcome.ts';
import { encodeTarget } from '../../model/request-body.ts';
import { isTree } from '../../model/schema-words.ts';
import type { BatchForm } from '../../ports/profile.ts';

/** An API that gives one thing, and the API that gives many of the same in the same words. */
interface Twin {
  /** Label of the API that gives many. */
  readonly many: string;
  readonly path: string;
  /** Path parameter that names the one thing, and query parameter that names many. */
  readonly param: string;
  readonly ids: string;
  /** Query parameter that says which kind of id it is, and what it is where nothing is said. */
  readonly kind: string;
  readonly usualKind: string;
  /** Further query parameters, which mean the same at both. */
  readonly carried: readonly string[];
  /** Member of `data` in which the one thing is answered. */
  readonly member: string;
  readonly most: number;
}

const users = '/open-apis/contact/v3/users';

/**
 * Reads alone, and of those the one that is documented to answer in the same words. Records of a table are made under one
 * `client_token` for all, which no single call of them could be repeated under; messages sent in a batch have no key at all.
 */
const twins: ReadonlyMap<string, Twin> = new Map([
  [
    `GET ${users}/:user_id`,
    {
      many: `GET ${users}/batch`,
      path: `${users}/batch`,
      param: 'user_id',
      ids: 'user_ids',
      kind: 'user_id_type',
      usualKind: 'open_id',
      carried: ['department_id_type'],
      member: 'user',
      most: 50,
    },
  ],
]);

// A request line stays below the 8 KiB that proxies take.
const longestItem = 100;

/** Label of the API that gives many of what the API of this label gives one of, where there is one. */
export function batchTwinOf(label: string): string | undefined {
  return twins.get(label)?.many;
}

/** What a call's form is made of. */
export interface Batchable {
  readonly call: Call;
  readonly label: string;
  readonly params: Readonly<Record<string, string>>;
  /** Path in front of all calls of the upstream. */
  readonly prefix: string;
  /** Upstream, group, app, tenant and as whom: calls of others go in other requests. */
  readonly who: string;
  readonly limitKey: string;
}

/** How a call goes with others; `undefined` for one that asks for more than the API that gives many can be asked. */
export function batchFormOf({ call, label, params, prefix, who, limitKey }: Batchable): BatchForm | undefined {
  const twin = twins.get(label);
  const item = decoded(twin === undefined ? undefined : params[twin.param]);
  if (twin === undefined || item === undefined || methodOf(call) !== 'GET') return undefined;
  if (call.body !== undefined || Object.keys(call.headers ?? {}).length > 0) return undefined;
  const { [twin.kind]: kind = twin.usualKind, ...others } = call.query ?? {};
  const carried = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1));
  if (typeof kind !== 'string') return undefined;
  if (carried.some(([name, value]) => !twin.carried.includes(name) || typeof value !== 'string')) return undefined;
  return {
    shape: JSON.stringify([who, twin.many, kind, ...carried]),
    most: twin.most,
    limitKey,
    item,
    compose: (items) => ({
      method: 'GET',
      path: encodeTarget(prefix + twin.path, {
        [twin.ids]: [...new Set(items)],
        [twin.kind]: kind,
        ...Object.fromEntries(carried),
      }),
      headers: {},
      body: undefined,
    }),
    split: (exchange, items) => split(exchange, items, twin, kind),
  };
}

/** Told apart by their ids: the answer keeps no order, and says nothing of those that it leaves out. */
function split(exchange: Exchange, items: readonly string[], { member }: Twin, kind: string): (Exchange | undefined)[] {
  if (exchange.kind !== 'answered') return items.map(() => undefined);
  const answered = new Map<string, object>();
  const twice = new Set<string>();
  for (const one of itemsOf(exchange.body)) {
    const id = one[kind];
    if (typeof id !== 'string') continue;
    if (answered.has(id)) twice.add(id);
    answered.set(id, one);
  }
  return items.map((item) => {
    const one = answered.get(item);
    if (one === undefined || twice.has(item)) return undefined;
    return { ...exchange, body: Buffer.from(JSON.stringify({ code: 0, msg: 'success', data: { [member]: one } })) };
  });
}

function itemsOf(body: Buffer) {
  const answer = jsonOf(body.toString('utf8'));
  const data = isTree(answer) ? answer['data'] : undefined;
  const items = isTree(data) ? data['items'] : undefined;
  return Array.isArray(items) ? items.filter(isTree) : [];
}

/** What the path names; `undefined` where that cannot stand in a list. */
function decoded(text = ''): string | undefined {
  try {
    const item = decodeURIComponent(text);
    return item === '' || item.length > longestItem ? undefined : item;
  } catch {
    return undefined;
  }
}
