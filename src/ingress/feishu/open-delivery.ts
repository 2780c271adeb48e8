import { nestsTooDeep } from '../../model/json-levels.ts';
import { isTree, type Tree } from '../../model/schema-words.ts';

import type { EventApp } from './event-app.ts';
import { isFresh, type Window } from './freshness.ts';
import { decrypt, isOneOf, signatureHeaders, type SignatureHeaders, signedWith } from './seal.ts';

/** Why a delivery is not taken. A closed list: it labels a metric. */
export type Refusal =
  'malformed' | 'plain' | 'replayed' | 'undecryptable' | 'unsigned' | 'wrong-app' | 'wrong-signature' | 'wrong-token';

/** What a request holds once it has proved where it comes from. */
export type Delivery =
  /** Feishu asks whether we are who we say; the answer is this text. */
  | { readonly kind: 'challenge'; readonly challenge: string }
  /** The body as a value, and as the text it was: numbers keep all their digits there. */
  | { readonly kind: 'body'; readonly text: string; readonly body: Tree }
  | { readonly kind: 'refused'; readonly why: Refusal };

/** What comes over HTTP. */
interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Proves and opens a delivery. Total: any bytes give one of the kinds.
 *
 * With an Encrypt Key only what is signed with it passes; the signature covers the bytes as they came, so it is checked
 * before anything is parsed. The one exception is the challenge, which Feishu does not sign: it must decrypt to a
 * `url_verification` with the right token, and every unsigned body that does not is refused in the same way, so that nobody
 * learns anything from trying. Without an Encrypt Key the Verification Token inside the body decides.
 */
export function openDelivery(app: EventApp, request: Request, wallMs: number, window: Window): Delivery {
  const signed = signatureHeaders(request.headers);
  if (app.encryptKeys.length === 0) return openPlain(app, request, signed, wallMs, window);
  if (signed === undefined) return openChallenge(app, request.body);
  const key = signedWith(app.encryptKeys, signed, request.body);
  if (key === undefined) return refused('wrong-signature');
  if (!isFresh(signed.timestamp, wallMs, window)) return refused('replayed');
  const outer = readBody(request.body);
  if (outer === undefined) return refused('malformed');
  const { encrypt } = outer.body;
  if (typeof encrypt !== 'string') return refused('plain');
  const opened = decrypt(key, encrypt);
  if (opened === undefined) return refused('undecryptable');
  const inner = readBody(opened);
  if (inner === undefined) return refused('malformed');
  return challengeIn(app, inner.body) ?? inner;
}

function openChallenge(app: EventApp, bytes: Buffer): Delivery {
  const sealed = readBody(bytes)?.body['encrypt'];
  if (typeof sealed !== 'string') return refused('unsigned');
  for (const key of app.encryptKeys) {
    const opened = decrypt(key, sealed);
    const inner = opened === undefined ? undefined : readBody(opened);
    const challenge = inner === undefined ? undefined : challengeIn(app, inner.body);
    if (challenge?.kind === 'challenge') return challenge;
  }
  return refused('unsigned');
}

function openPlain(
  app: EventApp,
  { body: bytes }: Request,
  signed: SignatureHeaders | undefined,
  wallMs: number,
  window: Window,
): Delivery {
  const opened = readBody(bytes);
  if (opened === undefined) return refused('malformed');
  const { body } = opened;
  const token = tokenOf(body);
  // The old card callback: no schema, its `token` is not the Verification Token, signed with SHA-1 instead.
  if (signed !== undefined && isOldCard(body)) {
    if (signedWith(app.verificationTokens, signed, bytes, 'sha1') === undefined) return refused('wrong-signature');
    return isFresh(signed.timestamp, wallMs, window) ? opened : refused('replayed');
  }
  if (token === undefined || !isOneOf(app.verificationTokens, token)) return refused('wrong-token');
  return challengeIn(app, body) ?? opened;
}

/** The challenge in a body, a refusal when its token is wrong, `undefined` when it is something else. */
function challengeIn({ verificationTokens }: EventApp, body: Tree): Delivery | undefined {
  const { type, challenge, token } = body;
  if (type !== 'url_verification') return undefined;
  if (typeof challenge !== 'string' || challenge.length > 1_024) return refused('malformed');
  if (verificationTokens.length === 0) return { kind: 'challenge', challenge };
  if (typeof token !== 'string' || !isOneOf(verificationTokens, token)) return refused('wrong-token');
  return { kind: 'challenge', challenge };
}

/** Schema 2.0 keeps the token in its header, 1.0 and the challenge at the top. */
function tokenOf({ header, token }: Tree): string | undefined {
  const found = isTree(header) ? header['token'] : token;
  return typeof found === 'string' ? found : undefined;
}

function isOldCard(body: Tree): boolean {
  return body['schema'] === undefined && body['type'] === undefined && isTree(body['action']);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body in some bytes, `undefined` when they hold none. */
export function readBody(bytes: Buffer): Extract<Delivery, { kind: 'body' }> | undefined {
  try {
    const text = utf8.decode(bytes);
    const body: unknown = JSON.parse(text);
    return isTree(body) && !nestsTooDeep(body) ? { kind: 'body', text, body } : undefined;
  } catch {
    return undefined;
  }
}

function refused(why: Refusal): Delivery {
  return { kind: 'refused', why };
}
