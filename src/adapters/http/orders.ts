import type { Fault, HttpRequest } from '../../model/http.ts';
import { jsonOrText } from '../../model/json-levels.ts';
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
  const tree = jsonOrText(body.toString('utf8'));
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

/** Whether a value is a text of 1 to `most` characters. */
export function isShortText(value: unknown, most = 100): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= most;
}
