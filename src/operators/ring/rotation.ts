/** What can be a member of a {@link Rotation}: of one at a time, which alone touches the two fields. */
export interface Linked<L> {
  next: L | undefined;
  previous: L | undefined;
}

/** Circular list whose links are the members themselves: every step of a round robin is O(1) and allocates nothing. */
export class Rotation<L extends Linked<L>> {
  #first: L | undefined;
  #size = 0;

  /** Whose turn it is. */
  get first(): L | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends; its turn comes after that of all others. It must not be a member of a rotation. */
  add(link: L): void {
    const first = this.#first ?? link;
    const last = first.previous ?? link;
    link.previous = last;
    link.next = first;
    last.next = link;
    first.previous = link;
    this.#first = first;
    this.#size += 1;
  }

  /** Removes a member in O(1). */
  remove(link: L): void {
    const { next, previous } = link;
    if (next === undefined || previous === undefined) return;
    previous.next = next;
    next.previous = previous;
    if (this.#first === link) this.#first = next === link ? undefined : next;
    link.next = undefined;
    link.previous = undefined;
    this.#size -= 1;
  }

  /** The first becomes the last. */
  advance(): void {
    this.#first = this.#first?.next;
  }
}
