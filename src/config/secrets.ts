import type { Path } from './tree.ts';

const secretKey = /secret|webhook|token|password|passphrase|encryptkey|credential|authorization|cookie|api-?key/i;

/** Whether values at this path are never shown. Headers may carry credentials of any name. */
export function isSecret(path: Path): boolean {
  return path.some((step) => typeof step === 'string' && (secretKey.test(step) || step === 'headers'));
}

/** A value for people: secrets become `***`, as do user and password inside an address. */
export function shown(path: Path, value: unknown): string {
  if (isSecret(path) && value !== undefined && value !== null && value !== '') return '***';
  // An object would have to be masked leaf by leaf; where one stands by mistake its kind is enough.
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a section';
  const text = typeof value === 'string' ? value : String(value);
  const masked = text.replace(/^(\w+:\/\/)?.*@/s, '$1***@').replace(/([?&][^=&#\s]+=)[^&#\s]*/g, '$1***');
  const short = masked.length > 200 ? `${masked.slice(0, 200)}...` : masked;
  return typeof value === 'string' ? JSON.stringify(short) : short;
}
