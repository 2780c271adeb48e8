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
export function redactFields(
  fields: Readonly<Record<string, unknown>>,
  redactText: TextRedactor,
): Record<string, unknown> {
  return copyFields(fields, redactText, [fields]);
}

function copyFields(fields: object, redactText: TextRedactor, path: readonly object[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(fields).slice(0, maxItems)) {
    const value = read(fields, name);
    copy[redactText(name)] = isSecretName(name) ? maskOf(name, value) : copyValue(value, redactText, path);
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

function copyValue(value: unknown, redactText: TextRedactor, path: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'bigint':
    case 'symbol':
      return redactText(String(value));
    case 'function':
      return '[function]';
    case 'object':
      return value === null ? null : copyObject(value, redactText, path);
    case 'boolean':
    case 'number':
    case 'undefined':
      return value;
  }
}

function copyObject(value: object, redactText: TextRedactor, path: readonly object[]): unknown {
  if (path.includes(value)) return '[circular]';
  if (path.length >= maxDepth) return '[too deep]';
  const inner = [...path, value];
  if (value instanceof Error) return copyError(value, redactText, inner);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return redactText(value.href);
  if (value instanceof Map) return copyFields(fieldsOf(value), redactText, inner);
  if (value instanceof Set) return copyItems([...value], redactText, inner);
  if (Array.isArray(value)) return copyItems(value, redactText, inner);
  return copyFields(value, redactText, inner);
}

function fieldsOf(map: ReadonlyMap<unknown, unknown>): object {
  return Object.fromEntries(
    [...map].map(([name, value]) => [typeof name === 'string' ? name : `[${typeof name}]`, value]),
  );
}

/** In a list of headers, nested pairs or flat, the secret is what follows its name. */
function copyItems(items: readonly unknown[], redactText: TextRedactor, path: readonly object[]): unknown[] {
  return items.slice(0, maxItems).map((item, index) => {
    const before: unknown = items[index - 1];
    const named = typeof before === 'string' && /^[\w-]{1,64}$/.test(before) && isSecretName(before);
    return named ? mask : copyValue(item, redactText, path);
  });
}

// Own fields of an error are kept only where they are plain values: drivers hang whole commands on them, passwords included.
function copyError(error: Error, redactText: TextRedactor, path: readonly object[]): Record<string, unknown> {
  const scalars = Object.entries(error).filter(([, value]) => value === null || typeof value !== 'object');
  const errors: unknown = error instanceof AggregateError ? error.errors : undefined;
  return {
    type: error.name,
    message: redactText(error.message),
    ...copyFields(Object.fromEntries(scalars), redactText, path),
    stack: error.stack === undefined ? undefined : redactText(error.stack),
    ...(error.cause === undefined ? {} : { cause: copyValue(error.cause, redactText, path) }),
    ...(Array.isArray(errors) ? { errors: copyItems(errors, redactText, path) } : {}),
  };
}
