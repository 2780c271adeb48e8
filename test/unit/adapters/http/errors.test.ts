import { describe, expect, it } from 'vitest';

import { transportFailure } from '../../../../src/adapters/http/errors.ts';

const coded = (code: string) => Object.assign(new Error('boom'), { code });

describe('transportFailure', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'refused'],
    ['EMFILE', 'refused'],
    ['ENOTFOUND', 'dns'],
    ['EAI_AGAIN', 'dns'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
    ['EPROTO', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
    ['CERT_HAS_EXPIRED', 'certificate'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
    ['UND_ERR_SOCKET', 'reset'],
    ['HPE_INVALID_EOF_STATE', 'reset'],
    ['HPE_INVALID_CONSTANT', 'bad-response'],
    ['UND_ERR_HEADERS_OVERFLOW', 'bad-response'],
    ['UND_ERR_DESTROYED', 'aborted'],
    ['SOMETHING_NEW', 'reset'],
  ])('reads %s as %s', (code, failure) => {
    expect(transportFailure(coded(code))).toEqual({ failure, message: `boom (${code})` });
  });

  it('reads a host that was tried at several addresses by its last one', () => {
    const tried = new AggregateError([coded('ETIMEDOUT'), coded('ECONNREFUSED')], '');
    expect(transportFailure(tried)).toMatchObject({ failure: 'refused' });
  });

  it.each([undefined, 'text', 7, {}, new Error('')])('reads %o without throwing', (thrown) => {
    expect(transportFailure(thrown)).toEqual({ failure: 'reset', message: 'connection failed' });
  });
});
