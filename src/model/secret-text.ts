/** What stands in the place of a secret. */
export const mask = '[redacted]';

const maxTextLength = 16_384;
const maxSecretLength = 8_192;

// Bounded repetitions only: a log line must not become a way to stall the process.
const secretWord =
  '[\\w.-]{0,40}(?:token|secret|password|passwd|passphrase|encrypt_?key|api_?key|access_?key|private_?key|ticket)';
const replacements: readonly (readonly [pattern: RegExp, by: string])[] = [
  // The whole value of the two headers that carry nothing else.
  [
    /\b((?:proxy-)?authorization|(?:set-)?cookie)(\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)[^\r\n"']{1,8192}/gi,
    `$1$2${mask}`,
  ],
  [/\b(bearer|basic)\s{1,3}[\w.~+/=-]{3,}/gi, `$1 ${mask}`],
  // `access_token=...` in URLs and forms, `"app_secret":"..."` in JSON, also when the JSON was quoted once more.
  [
    new RegExp(
      `(${secretWord}\\w{0,20}(?:=|\\\\?["']\\s{0,3}[:=]\\s{0,3}|\\s{0,3}[:=]\\s{0,3}(?=\\\\?["']))\\\\?["']?)[^\\s"'&,;}\\\\]{1,8192}`,
      'gi',
    ),
    `$1${mask}`,
  ],
  // `password: hunter2` in prose; `token: refused` is prose too, so a word without a digit stays.
  [new RegExp(`(${secretWord}\\s{0,3}:\\s{0,3})(?=[^\\s"',;]{0,200}\\d)[^\\s"',;]{4,8192}`, 'gi'), `$1${mask}`],
  // Credentials in a URL.
  [/(:\/\/)[^\s/@"']{1,512}@/g, `$1${mask}@`],
  // Whoever knows the address of a group's bot, or of a flow, may post there.
  [/(\/(?:trigger-web)?hook\/)[\w-]{1,512}/gi, `$1${mask}`],
  // Feishu's tenant, user, app and refresh tokens, and tokens that are JWTs.
  [/(?<![\w-])(?:[taur]|ur)-[\w.-]{16,}/g, mask],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, mask],
];

// In whatever one of the patterns finds stands one of these; in most texts none does, and one look is enough.
const suspicious =
  /authorization|cookie|bearer|basic|token|secret|passw|passphrase|key|ticket|hook\/|:\/\/|[taur]-[\w.-]{16}|eyJ/i;

/** Masks what looks like a secret inside a text, and shortens a text of more than 16,384 characters. */
export type TextRedactor = (text: string) => string;

/** @param secrets values that are masked wherever they stand, those of the configuration; shorter than 6 are left alone */
export function createTextRedactor(secrets: readonly string[] = []): TextRedactor {
  // Longest first: one secret may be the beginning of another.
  const known = [...new Set(secrets)].filter((secret) => secret.length >= 6).sort((a, b) => b.length - a.length);
  return (text) => {
    // A secret must not be halved by the cut, or its first half would be no secret to the patterns.
    let plain = text.slice(0, maxTextLength + maxSecretLength);
    for (const secret of known) plain = plain.replaceAll(secret, mask);
    if (suspicious.test(plain)) for (const [pattern, by] of replacements) plain = plain.replace(pattern, by);
    return text.length > maxTextLength ? `${plain.slice(0, maxTextLength)}... (${text.length} characters)` : plain;
  };
}
