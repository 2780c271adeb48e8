/** What happened, in order: a hash always (two runs are the same when theirs are), the lines when somebody wants to read. */
export class Trace {
  readonly lines: string[] | undefined;
  #hash = 0x811c9dc5;
  #events = 0;

  constructor(keepLines: boolean) {
    this.lines = keepLines ? [] : undefined;
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  get events(): number {
    return this.#events;
  }

  note(nowMs: number, who: string, what: string, detail: string | number = ''): void {
    this.#events++;
    this.#mix(Math.round(nowMs * 1_000) | 0);
    this.#text(who);
    this.#text(what);
    if (typeof detail === 'number') this.#mix(detail | 0);
    else this.#text(detail);
    this.lines?.push(`${nowMs.toFixed(1).padStart(9)} ms  ${who.padEnd(8)} ${what} ${detail}`.trimEnd());
  }

  #text(text: string): void {
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i));
    this.#mix(0x2f);
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value & 0xffff) ^ ((value >>> 16) * 0x9e37), 0x01000193);
  }
}
