import type { HttpResponse } from '../model/http.ts';

const mostLines = 1_000;

/** Whether a body is a batch: one call a line. */
export function isBatch(contentType: string | undefined): boolean {
  return /^application\/(?:x-)?(?:ndjson|jsonl)(?:\s*;|\s*$)/i.test(contentType?.trim() ?? '');
}

/** The lines of a batch that hold something, with their numbers from 1; `undefined`: more than a thousand. */
export function linesOf(body: Buffer): readonly { readonly line: number; readonly bytes: Buffer }[] | undefined {
  const lines: { line: number; bytes: Buffer }[] = [];
  let number = 0;
  for (let start = 0; start < body.length;) {
    const newline = body.indexOf(10, start);
    const end = newline === -1 ? body.length : newline;
    const bytes = body.subarray(start, body[end - 1] === 13 && end > start ? end - 1 : end);
    number++;
    if (bytes.length > 0) lines.push({ line: number, bytes });
    if (lines.length > mostLines) return undefined;
    start = end + 1;
  }
  return lines;
}

/** The answer to a batch: one line per call, in their order, with the status that it would have had alone. */
export function batchAnswer(
  answers: readonly { readonly line: number; readonly answer: HttpResponse }[],
): HttpResponse {
  const lines = answers.map(
    ({ line, answer: { status, body } }) => `{"line":${line},"http":${status},${body.slice(1)}\n`,
  );
  return { status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' }, body: lines.join('') };
}
