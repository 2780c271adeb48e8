import type { Call, CallFault } from '../model/call.ts';
import { checkCall } from '../model/contracts.ts';
import { whyNotJson } from '../model/why-not-json.ts';

/** A call as it came over HTTP, or everything that is wrong with it. */
export type ReadCall =
  | { readonly ok: true; readonly call: Call }
  /** `unreadable`: not even JSON. */
  | { readonly ok: false; readonly unreadable: boolean; readonly faults: readonly CallFault[] };

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
    return fault(`is not JSON: ${whyNotJson(error, text)}`);
  }
  const checked = checkCall(value);
  return checked.ok ? checked : { ok: false, unreadable: false, faults: checked.faults };
}

function fault(message: string): ReadCall {
  return { ok: false, unreadable: true, faults: [{ at: '', message }] };
}
