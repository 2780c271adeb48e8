import { type Fault, type HttpRequest, type HttpResponse, problemResponse } from '../../model/http.ts';
import { isTree, type Tree } from '../../model/schema-words.ts';

/** What everybody says who asks for a change. */
export interface Order {
  /** Who, as they named themselves. */
  readonly by: string;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
}

/** A body that was read: its members and who asks, or every mistake in it. */
export type ReadOrder =
  { readonly tree: Tree; readonly order: Order; readonly faults?: never } | { readonly faults: readonly Fault[] };

/**
 * Reads the body of an order: `by` is needed, `reason` may be there.
 * @param more checks further members; reports through its argument
 * @param known names of these members
 */
export function readOrder(
  { headers, body }: HttpRequest,
  known: readonly string[],
  more: (tree: Tree, report: (at: string, message: string) => void) => void,
): ReadOrder {
  const tree = parsed(body);
  if (!isTree(tree)) return { faults: [{ at: '', message: 'must be a JSON object' }] };
  const faults: Fault[] = [];
  const report = (at: string, message: string): void => void faults.push({ at, message });
  more(tree, report);
  const { by, reason } = tree;
  if (!isShortText(by)) report('/by', 'must name who asks, 1 to 100 characters');
  if (reason !== undefined && !isShortText(reason, 500)) report('/reason', 'must be 1 to 500 characters');
  for (const name of Object.keys(tree)) {
    if (!['by', 'reason', ...known].includes(name)) report(`/${name}`, 'is not known');
  }
  if (faults.length > 0) return { faults };
  const order = { by: by as string, reason: reason as string | undefined, requestId: headers['x-request-id'] };
  return { tree, order };
}

/** The answer to an order with mistakes. */
export function invalidOrder(faults: readonly Fault[]): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at === '' ? 'the body' : at} ${message}`).join('; ');
  return problemResponse({ status: 400, code: 'bad_request', title: 'Not a valid request', detail, faults });
}

/** Whether a value is a text of 1 to `most` characters. */
export function isShortText(value: unknown, most = 100): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= most;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
