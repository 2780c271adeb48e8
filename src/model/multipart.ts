import type { Call } from './call.ts';

/** Parts of a multipart body, as a call holds them. */
export type Parts = NonNullable<Call['multipart']>;

const crlf = Buffer.from('\r\n');

/**
 * Encodes `multipart/form-data` (RFC 7578). The boundary is the caller's, so equal parts give equal bytes.
 * @param boundary 1 to 70 letters, digits and dashes that do not occur in the content
 */
export function encodeMultipart(parts: Parts, boundary: string): Buffer {
  const chunks: Buffer[] = [];
  for (const part of parts) {
    const name = `form-data; name="${quoted(part.name)}"`;
    // A file without a name reads as a text field to most servers, Feishu's among them.
    const file = part.filename ?? (part.base64 === undefined ? undefined : part.name);
    const filename = file === undefined ? '' : `; filename="${quoted(file)}"`;
    const type = part.contentType ?? (part.base64 === undefined ? undefined : 'application/octet-stream');
    const typeLine = type === undefined ? '' : `Content-Type: ${type.replace(/[\r\n]/g, ' ')}\r\n`;
    chunks.push(
      Buffer.from(`--${boundary}\r\nContent-Disposition: ${name}${filename}\r\n${typeLine}\r\n`),
      part.base64 === undefined ? Buffer.from(part.value ?? '') : Buffer.from(part.base64, 'base64'),
      crlf,
    );
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return Buffer.concat(chunks);
}

/** Names in quotes as browsers write them (WHATWG HTML, multipart/form-data encoding algorithm). */
function quoted(name: string): string {
  return name.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22');
}
