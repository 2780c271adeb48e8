import { LRUCache } from 'lru-cache';

/** What a field of JSON may be; `null` and absence fit every type. */
export type JsonType = 'string' | 'number' | 'boolean' | 'object' | 'array';

/** A field that is something else than it always was. */
export interface Drift {
  /** From the top of the body, `[]` for the items of a list: `data.user.mobile`. */
  readonly path: string;
  readonly was: JsonType;
  readonly is: JsonType;
}

interface Field {
  type: JsonType;
  /** In how many looks it was of this type; a list may bring it many times in one. */
  looks: number;
  /** The last of them. */
  look: number;
  /** It was several things from the start, or has been reported. */
  mixed: boolean;
}

interface Shape {
  readonly fields: Map<string, Field>;
  looks: number;
  lookedMs: number;
}

// What was the same so often is not so by chance.
const learnedAfter = 5;
// Each look costs a walk through a body: after the first ones one a second is enough to see a change.
const closeLooks = 50;
const lookEveryMs = 1_000;
const mostShapes = 2_000;
const mostFields = 300;
const deepest = 8;
const mostItems = 3;

/**
 * Learns what the fields of good answers are, by API, and tells when one is something else: an upstream that was changed. Each
 * field is told of once; one that varied from the start never is. Bounded: the shapes not looked at for the longest go first.
 */
export class ShapeBook {
  readonly #shapes = new LRUCache<string, Shape>({ max: mostShapes });

  /** Looks at a body. @returns what has changed, usually nothing */
  look(api: string, body: unknown, nowMs: number): readonly Drift[] {
    const shape = this.#shapeOf(api);
    if (shape.looks >= closeLooks && nowMs - shape.lookedMs < lookEveryMs) return none;
    shape.looks++;
    shape.lookedMs = nowMs;
    const drifts: Drift[] = [];
    walk(body, '', 0, shape, drifts);
    return drifts;
  }

  #shapeOf(api: string): Shape {
    const known = this.#shapes.get(api);
    if (known !== undefined) return known;
    const shape: Shape = { fields: new Map(), looks: 0, lookedMs: -Infinity };
    this.#shapes.set(api, shape);
    return shape;
  }
}

const none: readonly Drift[] = [];

function walk(value: unknown, path: string, depth: number, shape: Shape, drifts: Drift[]): void {
  const type = typeOf(value);
  if (type === undefined || depth > deepest) return;
  if (path !== '') note(path, type, shape, drifts);
  if (type === 'array') {
    for (const item of (value as unknown[]).slice(0, mostItems)) walk(item, `${path}[]`, depth + 1, shape, drifts);
  } else if (type === 'object') {
    for (const [name, inner] of Object.entries(value as object)) {
      walk(inner, path === '' ? name : `${path}.${name}`, depth + 1, shape, drifts);
    }
  }
}

function note(path: string, is: JsonType, { fields, looks: look }: Shape, drifts: Drift[]): void {
  const field = fields.get(path);
  if (field === undefined) {
    if (fields.size < mostFields) fields.set(path, { type: is, looks: 1, look, mixed: false });
    return;
  }
  if (field.mixed) return;
  if (field.type === is) {
    if (field.look !== look) field.looks++;
    field.look = look;
    return;
  }
  field.mixed = true;
  if (field.looks >= learnedAfter) drifts.push({ path, was: field.type, is });
}

function typeOf(value: unknown): JsonType | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : undefined;
}
