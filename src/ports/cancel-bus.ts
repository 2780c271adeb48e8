import type { Observable } from 'rxjs';

/** Tells every worker that a call is no longer wanted. */
export interface CancelBus {
  /** Emits once: whether it was told. Never errors. */
  tell(id: string): Observable<boolean>;
  /** Sets who hears it in this process, at most one listener. */
  onCancel(listener: (id: string) => void): void;
}
