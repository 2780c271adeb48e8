import type { Address } from './config.ts';

/** `host:port` in parts; the brackets of an IPv6 literal go. */
export function compileAddress(text: string): Address {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
