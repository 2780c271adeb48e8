import { createCipheriv, createHash } from 'node:crypto';

import type { SandboxRandom } from '../world-ports.ts';

/** Where deliveries go and what they are sealed with. */
export interface EventTarget {
  /** Base URLs of the receiver without a slash at the end; with several, each delivery takes the next one. */
  readonly urls: readonly string[];
  readonly app: string;
  /** How it is reached. Default `webhook`; over a long connection nothing is sealed, and `urls` do not matter. */
  readonly over?: 'webhook' | 'long-connection';
  /** With it bodies are encrypted and signed. */
  readonly encryptKey?: string;
  readonly verificationToken?: string;
}

/** One request as Feishu sends it. */
export interface SealedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const contentType = { 'content-type': 'application/json; charset=utf-8' };

/** Encrypts and signs a body with the Encrypt Key of the target; without one it goes as it is. The challenge is never signed. */
export function seal(
  target: EventTarget,
  body: unknown,
  wallMs: number,
  random: SandboxRandom,
  signed = true,
): SealedRequest {
  const text = JSON.stringify(body);
  const { encryptKey } = target;
  if (encryptKey === undefined) return { headers: contentType, body: text };
  const sealed = JSON.stringify({ encrypt: encrypt(encryptKey, text, random) });
  if (!signed) return { headers: contentType, body: sealed };
  const timestamp = String(Math.floor(wallMs / 1_000));
  const nonce = String(Math.floor(random.next() * 2 ** 32));
  const signature = createHash('sha256')
    .update(timestamp + nonce + encryptKey + sealed)
    .digest('hex');
  return {
    headers: {
      ...contentType,
      'x-lark-request-timestamp': timestamp,
      'x-lark-request-nonce': nonce,
      'x-lark-signature': signature,
    },
    body: sealed,
  };
}

function encrypt(encryptKey: string, text: string, random: SandboxRandom): string {
  const iv = Buffer.from(Array.from({ length: 16 }, () => Math.floor(random.next() * 256)));
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(encryptKey).digest(), iv);
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]).toString('base64');
}
