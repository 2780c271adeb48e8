import { messageOf } from './errors.ts';

/**
 * Why a text is no JSON: what the engine found, without the excerpt it quotes (a call may carry secrets), with line and
 * column.
 * @param error what `JSON.parse` threw for the text
 */
export function whyNotJson(error: unknown, text: string): string {
  const [, what = 'it cannot be read', offset] =
    /^(.*?)(?:, (?:\.\.\.)?".*|(?: in JSON)?(?: after JSON)? at position (\d+).*)?$/s.exec(messageOf(error)) ?? [];
  const at = offset === undefined ? offsetOfToken(text) : Number(offset);
  if (at === undefined) return what;
  const before = text.slice(0, at).split('\n');
  return `${what} at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** Where the token stands that the engine names without its place: at the end of the shortest text with that mistake. */
function offsetOfToken(text: string): number | undefined {
  // Each step parses the text once more; beyond this it is not worth the time.
  if (text.length > 65_536) return undefined;
  let [sound, broken] = [0, text.length];
  while (broken - sound > 1) {
    const middle = (sound + broken) >> 1;
    if (hasWrongToken(text.slice(0, middle))) broken = middle;
    else sound = middle;
  }
  return broken - 1;
}

function hasWrongToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return messageOf(error).startsWith('Unexpected token');
  }
}
