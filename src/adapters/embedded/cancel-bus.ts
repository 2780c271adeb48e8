import { defer, type Observable, of } from 'rxjs';

import type { CancelBus } from '../../ports/cancel-bus.ts';

/** {@link CancelBus} in one process. */
export class MemoryCancelBus implements CancelBus {
  #listener: (id: string) => void = () => undefined;

  tell(id: string): Observable<boolean> {
    return defer(() => {
      this.#listener(id);
      return of(true);
    });
  }

  onCancel(listener: (id: string) => void): void {
    this.#listener = listener;
  }
}
