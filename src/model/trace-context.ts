import { hash } from 'node:crypto';

/** A span by its name, as it travels from process to process (W3C Trace Context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether the spans of this trace are kept. */
  readonly sampled: boolean;
}

/** Headers by which a trace travels. */
export const traceHeaders = { parent: 'traceparent', state: 'tracestate', response: 'traceresponse' } as const;

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The span that a `traceparent` names; `undefined` for none, and for one that breaks the rules of its version. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags = '', more] = (text === undefined ? null : form.exec(text)) ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  // A later version may say more behind; the first one may not.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, sampled: (parseInt(flags, 16) & 1) === 1 };
}

/** The same as text. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Names that the same text gives everywhere and at any time: `traceId` has the length of a trace's, `spanId` of a span's. */
export function namesFrom(text: string): Pick<TraceContext, 'traceId' | 'spanId'> {
  const digits = hash('sha1', text, 'hex');
  return { traceId: digits.slice(0, 32), spanId: digits.slice(24, 40) };
}

/** A number in [0, 1) that the same text gives everywhere; cheap, and evenly spread over texts that differ by a digit. */
export function shareFrom(text: string): number {
  let bits = 0x81_1c_9d_c5;
  for (let at = 0; at < text.length; at++) bits = Math.imul(bits ^ text.charCodeAt(at), 0x01_00_01_93);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85_eb_ca_6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2_b2_ae_35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}
