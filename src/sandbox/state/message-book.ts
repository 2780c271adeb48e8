const removed = 1;

/** Which messages exist: one byte and a chat number each, because there may be a million. */
export class MessageBook {
  #states = new Uint8Array(1024); // 0 = no such message, 1 = removed, 2 = there
  #chats = new Uint32Array(1024);
  readonly #chatNumbers = new Map<string, number>();
  readonly #chatNames: string[] = [];
  readonly #salt: string;

  constructor(salt: string) {
    this.#salt = salt;
  }

  /** The id of the message that effect `seq` created. */
  idOf(seq: number): string {
    return `om_${this.#salt}${seq.toString(16).padStart(16, '0')}`;
  }

  add(seq: number, chat: string): void {
    if (seq >= this.#states.length) this.#grow(seq);
    let number = this.#chatNumbers.get(chat);
    if (number === undefined) {
      number = this.#chatNames.push(chat) - 1;
      this.#chatNumbers.set(chat, number);
    }
    this.#states[seq] = 2;
    this.#chats[seq] = number;
  }

  /** The message behind an id that this sandbox has given. */
  find(id: string): { readonly seq: number; readonly chat: string; readonly isRemoved: boolean } | undefined {
    const prefix = `om_${this.#salt}`;
    const seq = id.startsWith(prefix) ? Number.parseInt(id.slice(prefix.length), 16) : 0;
    const state = this.#states[seq] ?? 0;
    if (state === 0) return undefined;
    return { seq, chat: this.#chatNames[this.#chats[seq] ?? 0] ?? '', isRemoved: state === removed };
  }

  remove(seq: number): void {
    this.#states[seq] = removed;
  }

  #grow(seq: number): void {
    const length = 2 ** Math.ceil(Math.log2(seq + 1));
    const [states, chats] = [new Uint8Array(length), new Uint32Array(length)];
    states.set(this.#states);
    chats.set(this.#chats);
    this.#states = states;
    this.#chats = chats;
  }
}
