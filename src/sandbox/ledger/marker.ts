/** By what a test recognises a call in the ledger: its ordering key and its number within that key. */
export interface Marker {
  readonly key: string;
  readonly n: number | undefined;
}

const numberInText = /(?:^|[^\w])n=(\d{1,9})(?!\d)/;
const keyInText = /(?:^|[^\w])key=([^\s"]+)/;

/**
 * Reads the marker from what a plain call carries: fields `n` and `key`, or `n=17` and `key=K` inside a text.
 * Without a key of its own a call counts for `receiver`: the chat, the message, the table.
 */
export function markerOf(content: unknown, receiver: string): Marker {
  if (typeof content === 'string') return fromText(content, receiver);
  if (typeof content !== 'object' || content === null) return { key: receiver, n: undefined };
  const fields = content as Readonly<Record<string, unknown>>;
  const inText = fromText(typeof fields['text'] === 'string' ? fields['text'] : '', receiver);
  const n = Number(fields['n'] ?? undefined);
  return {
    key: typeof fields['key'] === 'string' ? fields['key'] : inText.key,
    n: Number.isInteger(n) && n >= 0 && n < 2 ** 32 ? n : inText.n,
  };
}

function fromText(text: string, receiver: string): Marker {
  const digits = numberInText.exec(text)?.[1];
  return { key: keyInText.exec(text)?.[1] ?? receiver, n: digits === undefined ? undefined : Number(digits) };
}
