import type { Call, CallFault } from '../model/call.ts';
import { checkCall } from '../model/contracts.ts';
import { messageOf } from '../model/errors.ts';

/** A call as it came over HTTP, or everything that is wrong with it. */
export type ReadCall =
  { readonly ok: true; readonly call: Call } | { readonly ok: false; readonly faults: readonly CallFault[] };

/** Reads a call out of the bytes of a body. Total: any bytes give a call or faults that name their place. */
export function readCall(body: Buffer): ReadCall {
  if (body.length === 0) return fault('is empty: send a JSON object with at least a path');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return fault('is not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return fault(`is not JSON: ${placeOf(messageOf(error), text)}`);
  }
  return checkCall(value);
}

function fault(message: string): ReadCall {
  return { ok: false, faults: [{ at: '', message }] };
}

/** What the engine found, without the excerpt it quotes (a call may carry secrets), with line and column. */
function placeOf(message: string, text: string): string {
  const [, what = 'it cannot be read', offset] =
    /^(.*?)(?:, (?:\.\.\.)?".*|(?: in JSON)?(?: after JSON)? at position (\d+).*)?$/s.exec(message) ?? [];
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
