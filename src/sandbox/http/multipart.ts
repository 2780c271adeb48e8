/** One part of a multipart body. */
export interface Part {
  readonly filename: string | undefined;
  readonly bytes: Buffer;
}

const blankLine = Buffer.from('\r\n\r\n');

/** Parts of a `multipart/form-data` body by name (RFC 7578), or `undefined` when it is none. */
export function readMultipart(body: Buffer, contentType: string): ReadonlyMap<string, Part> | undefined {
  const [, quoted, plain] = /^multipart\/form-data;.*?boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`--${boundary}`);
  const parts = new Map<string, Part>();
  let start = body.indexOf(delimiter);
  for (;;) {
    const end = body.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), start);
    const bodyStart = body.indexOf(blankLine, start);
    if (start < 0 || end < 0 || bodyStart < 0 || bodyStart > end) return parts;
    const head = body.toString('utf8', start + delimiter.length, bodyStart);
    const name = /[;\s]name="([^"]*)"/i.exec(head)?.[1];
    const filename = /filename="([^"]*)"/i.exec(head)?.[1];
    if (name !== undefined) parts.set(name, { filename, bytes: body.subarray(bodyStart + blankLine.length, end) });
    start = end + 2;
  }
}
