import type { TransportFailure } from '../../model/outcome.ts';

/** Endings by error code of Node and undici. */
const byCode: Readonly<Record<string, TransportFailure>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  EHOSTDOWN: 'refused',
  ENETUNREACH: 'refused',
  ENETDOWN: 'refused',
  // No port or file handle left on this machine: the connection was never asked for.
  EADDRNOTAVAIL: 'refused',
  EMFILE: 'refused',
  ENFILE: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  EAI_NONAME: 'dns',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  EPROTO: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate',
  HOSTNAME_MISMATCH: 'certificate',
  INVALID_CA: 'certificate',
  INVALID_PURPOSE: 'certificate',
  PATH_LENGTH_EXCEEDED: 'certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate',
  UND_ERR_INVALID_ARG: 'bad-response',
  UND_ERR_HEADERS_OVERFLOW: 'bad-response',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_ABORTED: 'aborted',
};

/** Families of codes that share an ending; the first that fits counts. */
const byPrefix: readonly (readonly [string, TransportFailure])[] = [
  ['CERT_', 'certificate'],
  ['CRL_', 'certificate'],
  ['UNABLE_TO_', 'certificate'],
  ['ERR_TLS_', 'tls'],
  ['ERR_SSL_', 'tls'],
  // An answer that ends in the middle: the connection was cut, whatever the parser makes of it.
  ['HPE_INVALID_EOF_STATE', 'reset'],
  ['HPE_', 'bad-response'],
];

/**
 * How an attempt failed, from what undici or Node threw. Unknown errors count as a cut connection: with bytes sent that
 * is the cautious reading. The text names the code and, where it has one, the address; never a header or a body.
 */
export function transportFailure(thrown: unknown): { readonly failure: TransportFailure; readonly message: string } {
  const error = firstOf(thrown);
  const code = codeOf(error);
  const text = error instanceof Error && error.message !== '' ? error.message : 'connection failed';
  return {
    failure: byCode[code] ?? byPrefix.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'reset',
    message: code === '' || text.includes(code) ? text : `${text} (${code})`,
  };
}

/** A host with several addresses fails with one error per address; the last one tried speaks for all. */
function firstOf(thrown: unknown): unknown {
  return thrown instanceof AggregateError ? ((thrown.errors as unknown[]).at(-1) ?? thrown) : thrown;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // undici leaves the code out where its parser only has a text.
  return error.name === 'HTTPParserError' ? 'HPE_UNKNOWN' : '';
}
