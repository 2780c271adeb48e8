import type { Fault } from '../plan.ts';

type Lasting = Extract<Fault, { readonly atMs: number; readonly forMs: number }>;

/** Which lasting faults are on at a moment. */
export class Weather {
  readonly #lasting: readonly Lasting[];

  constructor(faults: readonly Fault[]) {
    this.#lasting = faults.filter((fault): fault is Lasting => 'forMs' in fault);
  }

  /** The fault of that kind that is on at `nowMs`, or `undefined`. */
  now<K extends Lasting['kind']>(kind: K, nowMs: number): Extract<Lasting, { kind: K }> | undefined {
    for (const fault of this.#lasting) {
      if (fault.kind === kind && fault.atMs <= nowMs && nowMs < fault.atMs + fault.forMs)
        return fault as Extract<Lasting, { kind: K }>;
    }
    return undefined;
  }

  /** The trouble of one upstream at `nowMs`. */
  upstream(name: string, nowMs: number): Extract<Lasting, { kind: 'upstream' }> | undefined {
    for (const fault of this.#lasting) {
      const on = fault.atMs <= nowMs && nowMs < fault.atMs + fault.forMs;
      if (fault.kind === 'upstream' && fault.upstream === name && on) return fault;
    }
    return undefined;
  }

  /** From here on all is well. */
  static quietAtMs(faults: readonly Fault[]): number {
    let quietMs = 0;
    for (const fault of faults) {
      if ('forMs' in fault) quietMs = Math.max(quietMs, fault.atMs + fault.forMs);
      else if ('downMs' in fault) quietMs = Math.max(quietMs, ('atMs' in fault ? fault.atMs : 0) + fault.downMs);
      else if ('noticeMs' in fault) quietMs = Math.max(quietMs, fault.atMs + fault.noticeMs);
      else quietMs = Math.max(quietMs, fault.atMs);
    }
    return quietMs;
  }
}
