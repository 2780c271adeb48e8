/** Which brokers owe an answer to a fetch, and since when. Decides nothing else and reads no clock. */
export class SilentBrokers {
  readonly #limitMs: number;
  readonly #asked = new Map<number, { readonly atMs: number; told: boolean }>();

  /** @param limitMs a broker that owes an answer for so long is silent */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** A fetch was sent. The first one that was not answered counts. */
  asked(broker: number, nowMs: number): void {
    if (!this.#asked.has(broker)) this.#asked.set(broker, { atMs: nowMs, told: false });
  }

  /** A fetch was answered. @returns whether that broker had been told to be silent */
  answered(broker: number): boolean {
    const told = this.#asked.get(broker)?.told ?? false;
    this.#asked.delete(broker);
    return told;
  }

  /** Brokers that have become silent since the last look, with how long they owe an answer. */
  look(nowMs: number): readonly { readonly broker: number; readonly silentMs: number }[] {
    return [...this.#asked].flatMap(([broker, asked]) => {
      const silentMs = nowMs - asked.atMs;
      if (asked.told || silentMs < this.#limitMs) return [];
      asked.told = true;
      return [{ broker, silentMs }];
    });
  }
}
