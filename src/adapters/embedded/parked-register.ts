import { Observable } from 'rxjs';

import type { ParkedCall, ParkedRegister, ParkedScope } from '../../ports/parked-register.ts';

import { jsonCodec, type Store, type Table } from './store.ts';

type Row = Omit<ParkedCall, 'offset'>;

/** {@link ParkedRegister} of one process: a row for each call that waits outside. */
export class EmbeddedParkedRegister implements ParkedRegister {
  readonly #store: Store;
  readonly #table: Table<Row>;
  /** The folder has one owner, so nobody outside of this process can have opened a partition later. */
  readonly #fences = new Map<string, number>();
  /** What an earlier process left, read in one walk at the first question. */
  #left: Map<string, ParkedCall[]> | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.#table = store.table('parked', jsonCodec<Row>());
  }

  open(partition: string): Observable<{ readonly fence: number; readonly calls: readonly ParkedCall[] }> {
    return this.#durably(() => {
      const fence = (this.#fences.get(partition) ?? 0) + 1;
      const left = this.#left === undefined || fence > 1 ? this.#walk() : this.#left;
      this.#left = left;
      this.#fences.set(partition, fence);
      const calls = left.get(partition) ?? [];
      left.delete(partition);
      return { fence, calls };
    });
  }

  put({ partition, fence }: ParkedScope, { offset, ...row }: ParkedCall): Observable<boolean> {
    return this.#durably(() => {
      const ours = this.#fences.get(partition) === fence;
      if (ours) this.#table.put(nameOf(partition, offset), row);
      return ours;
    });
  }

  remove({ partition, fence }: ParkedScope, offset: number): Observable<boolean> {
    return this.#durably(() => {
      const ours = this.#fences.get(partition) === fence;
      if (ours) this.#table.remove(nameOf(partition, offset));
      return ours;
    });
  }

  ready(): boolean {
    return this.#store.ready();
  }

  #walk(): Map<string, ParkedCall[]> {
    const left = new Map<string, ParkedCall[]>();
    for (const [name, row] of this.#table.rows()) {
      const at = name.lastIndexOf('/');
      const partition = name.slice(0, at);
      const calls = left.get(partition) ?? [];
      left.set(partition, calls);
      calls.push({ ...row, offset: Number(name.slice(at + 1)) });
    }
    return left;
  }

  #durably<A>(step: () => A): Observable<A> {
    return new Observable((subscriber) => {
      const answer = step();
      this.#store.whenDurable(() => {
        subscriber.next(answer);
        subscriber.complete();
      });
    });
  }
}

function nameOf(partition: string, offset: number): string {
  return `${partition}/${offset}`;
}
