import { jsonOf } from './json-levels.ts';
import { isTree } from './schema-words.ts';
import { createTextRedactor, mask } from './secret-text.ts';

// A name of one letter would be found in every word.
const shortestValue = 2;
// Nor a number that any status, count or year may be.
const shortestNumber = 4;
const maxDepth = 64;

/** Keeps from people what is not for them: secrets in texts from outside, and members of JSON bodies by their names. */
export class Cover {
  readonly #fields: ReadonlySet<string>;
  readonly #redact: (text: string) => string;

  /**
   * @param fields names of members whose values nobody gets to see, in lower case or not
   * @param secrets values that are masked in texts wherever they stand, beside what looks like a secret
   */
  constructor(fields: readonly string[] = [], secrets: readonly string[] = []) {
    this.#fields = new Set(fields.map((field) => field.toLowerCase()));
    this.#redact = createTextRedactor(secrets);
  }

  /** Whether there are members to cover: else nobody need read a body for it. */
  get hasFields(): boolean {
    return this.#fields.size > 0;
  }

  /** A text from outside, without secrets and without what covered members of these bodies hold. */
  text(text: string, ...bodies: readonly unknown[]): string {
    let covered = this.#redact(text);
    if (!this.hasFields) return covered;
    const values = new Set<string>();
    for (const body of bodies) this.#collect(body, false, values, 0);
    // Longest first: one name may be the beginning of another.
    for (const value of [...values].sort((a, b) => b.length - a.length)) covered = covered.replaceAll(value, mask);
    return covered;
  }

  /**
   * The value with `[redacted]` in covered members, also inside JSON that stands in a string. Every part without covered members
   * is itself: numbers keep their digits, texts their white space.
   */
  tree(value: unknown): unknown {
    return this.hasFields ? this.#copy(value, 0) : value;
  }

  #covers(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  #copy(value: unknown, depth: number): unknown {
    if (depth > maxDepth) return mask;
    if (typeof value === 'string') {
      const inner = jsonIn(value);
      if (inner === undefined) return value;
      const copy = this.#copy(inner, depth + 1);
      return copy === inner ? value : JSON.stringify(copy);
    }
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      const copies = items.map((item) => this.#copy(item, depth + 1));
      return copies.some((copy, index) => copy !== items[index]) ? copies : value;
    }
    if (!isTree(value)) return value;
    const copies = Object.entries(value).map(([name, item]) => {
      const hidden = this.#covers(name) && item !== null && item !== undefined;
      return [name, hidden ? mask : this.#copy(item, depth + 1)] as const;
    });
    return copies.some(([name, copy]) => copy !== value[name]) ? Object.fromEntries(copies) : value;
  }

  #collect(value: unknown, covered: boolean, values: Set<string>, depth: number): void {
    if (depth > maxDepth) return;
    if (typeof value === 'string') {
      if (covered && value.length >= shortestValue) values.add(value);
      const inner = jsonIn(value);
      if (inner !== undefined) this.#collect(inner, covered, values, depth + 1);
    } else if (typeof value === 'number') {
      const digits = String(value);
      if (covered && digits.length >= shortestNumber) values.add(digits);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#collect(item, covered, values, depth + 1);
    } else if (isTree(value)) {
      for (const [name, item] of Object.entries(value)) {
        this.#collect(item, covered || this.#covers(name), values, depth + 1);
      }
    }
  }
}

/** The object or list that a text is, as the `content` of a message, however deep: what is not read is not covered. */
function jsonIn(text: string): unknown {
  return /^\s*[[{]/.test(text) ? jsonOf(text) : undefined;
}
