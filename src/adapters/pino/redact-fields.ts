import { mask, type TextRedactor } from '../../model/secret-text.ts';

const maxDepth = 8;
const maxItems = 100;

// Matched against the name in lower case without punctuation: `encryptKey`, `ENCRYPT_KEY` and `encrypt-key` are one.
const secretName =
  /token|secret|password|passwd|passphrase|authorization|cookie|credential|encryptkey|apikey|privatekey|accesskey|ticket/;
// Numbers about secrets are no secrets: `tokenWaitMs`, `tokenCount`.
const figureName = /(ms|count|total|version|left|bytes)$/;

/** Whether a field of this name holds a secret, whatever its value. */
function isSecretName(name: string): boolean {
  return secretName.test(name.toLowerCase().replace(/[^a-z0-9]/g, ''));
}

/** Copies the fields of a log line without their secrets; errors become plain objects, depth and length stay bounded. */
export type FieldRedactor = (fields: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/** What has to be known of a text, and of the name of a field. */
interface Redact {
  text(text: string): string;
  name(name: string): Name;
}

interface Name {
  readonly shown: string;
  readonly secret: boolean;
}

// Names of fields are written in the code, so that few are ever seen: what is known of them need not be found out for each line.
const mostNames = 1_000;

/** Makes one. */
export function createFieldRedactor(text: TextRedactor): FieldRedactor {
  const names = new Map<string, Name>();
  const redact: Redact = {
    text,
    name: (name) => {
      let known = names.get(name);
      if (known !== undefined) return known;
      known = { shown: text(name), secret: isSecretName(name) };
      if (names.size < mostNames) names.set(name, known);
      return known;
    },
  };
  return (fields) => copyFields(fields, redact, [fields]);
}

function copyFields(fields: object, redact: Redact, path: readonly object[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(fields).slice(0, maxItems)) {
    const value = read(fields, name);
    const { shown, secret } = redact.name(name);
    copy[shown] = secret ? maskOf(name, value) : copyValue(value, redact, path);
  }
  return copy;
}

/** A getter may throw; a log line must not. */
function read(fields: object, name: string): unknown {
  try {
    return Reflect.get(fields, name);
  } catch {
    return '[unreadable]';
  }
}

function maskOf(name: string, value: unknown): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number' && figureName.test(name.toLowerCase())) return value;
  return mask;
}

function copyValue(value: unknown, redact: Redact, path: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
      return redact.text(value);
    case 'bigint':
    case 'symbol':
      return redact.text(String(value));
    case 'function':
      return '[function]';
    case 'object':
      return value === null ? null : copyObject(value, redact, path);
    case 'boolean':
    case 'number':
    case 'undefined':
      return value;
  }
}

function copyObject(value: object, redact: Redact, path: readonly object[]): unknown {
  if (path.includes(value)) return '[circular]';
  if (path.length >= maxDepth) return '[too deep]';
  const inner = [...path, value];
  if (value instanceof Error) return copyError(value, redact, inner);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return redact.text(value.href);
  if (value instanceof Map) return copyFields(fieldsOf(value), redact, inner);
  if (value instanceof Set) return copyItems([...value], redact, inner);
  if (Array.isArray(value)) return copyItems(value, redact, inner);
  return copyFields(value, redact, inner);
}

function fieldsOf(map: ReadonlyMap<unknown, unknown>): object {
  return Object.fromEntries(
    [...map].map(([name, value]) => [typeof name === 'string' ? name : `[${typeof name}]`, value]),
  );
}

/** In a list of headers, nested pairs or flat, the secret is what follows its name. */
function copyItems(items: readonly unknown[], redact: Redact, path: readonly object[]): unknown[] {
  return items.slice(0, maxItems).map((item, index) => {
    const before: unknown = items[index - 1];
    const named = typeof before === 'string' && /^[\w-]{1,64}$/.test(before) && isSecretName(before);
    return named ? mask : copyValue(item, redact, path);
  });
}

// Own fields of an error are kept only where they are plain values: drivers hang whole commands on them, passwords included.
function copyError(error: Error, redact: Redact, path: readonly object[]): Record<string, unknown> {
  const scalars = Object.entries(error).filter(([, value]) => value === null || typeof value !== 'object');
  const errors: unknown = error instanceof AggregateError ? error.errors : undefined;
  return {
    type: error.name,
    message: redact.text(error.message),
    ...copyFields(Object.fromEntries(scalars), redact, path),
    stack: error.stack === undefined ? undefined : redact.text(error.stack),
    ...(error.cause === undefined ? {} : { cause: copyValue(error.cause, redact, path) }),
    ...(Array.isArray(errors) ? { errors: copyItems(errors, redact, path) } : {}),
  };
}
