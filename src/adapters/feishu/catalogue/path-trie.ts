/** A pattern that fits a path, with what its parameters stand for. */
export interface PathMatch<T> {
  readonly value: T;
  /** Raw segments by parameter name, not percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  parameter: Node<T> | undefined;
  /** By method: the value and the names of its parameters, in the order of the path. */
  readonly ends: Map<string, { readonly value: T; readonly names: readonly string[] }>;
}

/**
 * Finds the pattern of a path. At each place a literal segment beats a parameter (`/users/batch` before
 * `/users/:user_id`); where the literal leads nowhere for this method, the parameter gets its turn.
 */
export class PathTrie<T> {
  readonly #root: Node<T> = newNode();

  /** @param pattern segments after `/`; `:name` stands for any non-empty segment */
  add(method: string, pattern: string, value: T): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of pattern.split('/').slice(1)) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node.parameter ??= newNode();
        node = node.parameter;
        continue;
      }
      let next = node.literals.get(segment);
      if (next === undefined) node.literals.set(segment, (next = newNode()));
      node = next;
    }
    node.ends.set(method, { value, names });
  }

  find(method: string, path: string): PathMatch<T> | undefined {
    const segments = path.split('/');
    const taken: string[] = [];
    const descend = (node: Node<T>, at: number): PathMatch<T> | undefined => {
      const segment = segments[at];
      if (segment === undefined) {
        const end = node.ends.get(method);
        if (end === undefined) return undefined;
        return { value: end.value, params: Object.fromEntries(end.names.map((name, i) => [name, taken[i] ?? ''])) };
      }
      const literal = node.literals.get(segment);
      const found = literal === undefined ? undefined : descend(literal, at + 1);
      if (found !== undefined || node.parameter === undefined || segment === '') return found;
      taken.push(segment);
      const viaParameter = descend(node.parameter, at + 1);
      if (viaParameter === undefined) taken.pop();
      return viaParameter;
    };
    return descend(this.#root, 1);
  }
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), parameter: undefined, ends: new Map() };
}
