import { jsonOf } from '../../model/json-levels.ts';

/** What an answer's body says about how the call went. */
export interface Envelope {
  /** The body's own code; 0 is success. `undefined`: no readable code. */
  readonly code: number | undefined;
  /** Text beside the code, for people and for codes that only their text tells apart; at most 300 characters. */
  readonly text: string;
  /** OAuth's word (`invalid_grant`), where there is one. */
  readonly oauthError: string | undefined;
  /** Log id inside the error object. */
  readonly logId: string | undefined;
}

const nothing: Envelope = { code: undefined, text: '', oauthError: undefined, logId: undefined };
const longestText = 300;

/**
 * Reads code and text from a body: the normal envelope, the flat one of token endpoints, OAuth's, and that of custom
 * bots, which may hold `StatusCode` beside or instead of `code` (the one that is not 0 counts). Never throws.
 */
export function readEnvelope(body: Buffer): Envelope {
  const parsed = parseObject(body);
  if (parsed === undefined) return nothing;
  const code = numberIn(parsed['code']);
  const statusCode = numberIn(parsed['StatusCode']);
  const error = parsed['error'];
  const detail = isObject(error) ? error : undefined;
  const text = [parsed['msg'], parsed['StatusMessage'], parsed['error_description']].find(isText) ?? '';
  const logId = [detail?.['log_id'], parsed['log_id']].find(isText);
  return {
    code: code === undefined || code === 0 ? (statusCode ?? code) : code,
    text: text.slice(0, longestText),
    oauthError: isText(error) ? error.slice(0, 100) : undefined,
    logId: logId?.slice(0, 100),
  };
}

/** The body as a JSON object, or `undefined` when it is anything else. */
export function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  // Most bodies that are no JSON object (pages, files, nothing) are told by their first byte, without an exception.
  if (firstByte(body) !== 0x7b) return undefined;
  const parsed = jsonOf(body.toString('utf8'));
  return isObject(parsed) ? parsed : undefined;
}

function firstByte(body: Buffer): number | undefined {
  for (const byte of body) {
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
  }
  return undefined;
}

function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
