import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';

/** The headers that Feishu signs with. */
export interface SignatureHeaders {
  /** As it was received: it is hashed as text. */
  readonly timestamp: string;
  readonly nonce: string;
  readonly signature: string;
}

/** The signature headers of a request, or `undefined` unless all three are there. */
export function signatureHeaders(headers: Readonly<Record<string, string>>): SignatureHeaders | undefined {
  const timestamp = headers['x-lark-request-timestamp'];
  const nonce = headers['x-lark-request-nonce'];
  const signature = headers['x-lark-signature'];
  if (timestamp === undefined || nonce === undefined || signature === undefined) return undefined;
  return { timestamp, nonce, signature };
}

/**
 * Which of the secrets a body was signed with, or `undefined`. Feishu signs with a plain hash over timestamp, nonce, secret
 * and the bytes as they were sent: SHA-256 with the Encrypt Key; SHA-1 with the Verification Token on the old card callback.
 * Every secret is tried in constant time; upper and lower case are the same.
 */
export function signedWith(
  secrets: readonly string[],
  { timestamp, nonce, signature }: SignatureHeaders,
  body: Buffer,
  algorithm: 'sha1' | 'sha256' = 'sha256',
): string | undefined {
  const given = Buffer.from(signature.toLowerCase());
  let found: string | undefined;
  for (const secret of secrets) {
    const wanted = Buffer.from(
      createHash(algorithm).update(timestamp).update(nonce).update(secret).update(body).digest('hex'),
    );
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) found ??= secret;
  }
  return found;
}

/** Whether a text is one of the secrets; constant time, whatever its length. */
export function isOneOf(secrets: readonly string[], text: string): boolean {
  const given = digest(text);
  let found = false;
  for (const secret of secrets) found = timingSafeEqual(digest(secret), given) || found;
  return found;
}

const blockBytes = 16;

/**
 * Opens the member `encrypt` of a body: AES-256-CBC, the key is the SHA-256 of the Encrypt Key, the first 16 bytes are the
 * initialisation vector. `undefined` for whatever was not made with this key.
 */
export function decrypt(encryptKey: string, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < 2 * blockBytes || bytes.length % blockBytes !== 0) return undefined;
  const decipher = createDecipheriv('aes-256-cbc', digest(encryptKey), bytes.subarray(0, blockBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(blockBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
