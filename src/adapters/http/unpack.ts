import { gunzip } from 'node:zlib';

/** What a coded body is refused with; fastify takes the status from it. */
class CodingError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/**
 * Takes the gzip coding off a body. Fails with 415 for another coding, 400 for what is no gzip, 413 for what unpacks to more
 * than `maxBytes`: a bomb is unpacked no further than that.
 */
export function unpack(
  coding: string | undefined,
  body: Buffer,
  maxBytes: number,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const name = coding?.trim().toLowerCase() ?? 'identity';
  if (name === 'identity') {
    done(null, body);
    return;
  }
  if (name !== 'gzip') {
    done(new CodingError(415, 'Of the content codings only gzip is known here'));
    return;
  }
  gunzip(body, { maxOutputLength: maxBytes }, (error, plain) => {
    if (error === null) done(null, plain);
    else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      done(new CodingError(413, 'Unpacks to too much'));
    else done(new CodingError(400, 'The body is not gzip'));
  });
}
