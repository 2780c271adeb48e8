/** One answered request. */
export interface Answered {
  readonly from: string;
  readonly client: string | undefined;
  /** Epoch milliseconds. */
  readonly wallMs: number;
  readonly method: string;
  /** The pattern of the door, not what was asked for: ids and queries may be secrets. */
  readonly route: string;
  readonly httpVersion: string;
  readonly status: number;
  /** Of the body; `undefined`: not known. */
  readonly bytes: number | undefined;
  /** Shown without its query, which may hold a secret. */
  readonly referer: string | undefined;
  readonly agent: string | undefined;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A request in the combined log format of Nginx and Apache, in UTC, for tools that read access logs. */
export function combinedLine(request: Answered): string {
  const { from, client, wallMs, method, route, httpVersion, status, bytes, referer, agent } = request;
  const [date = '', time = ''] = new Date(wallMs).toISOString().split('T');
  const [year = '', month = '', day = ''] = date.split('-');
  const at = `${day}/${months[Number(month) - 1] ?? ''}/${year}:${time.slice(0, 8)} +0000`;
  const asked = `${method} ${route} HTTP/${httpVersion}`;
  return `${from} - ${client ?? '-'} [${at}] ${quoted(asked)} ${status} ${bytes ?? '-'} ${quoted(referer?.replace(/[?#].*$/s, ''))} ${quoted(agent)}`;
}

/** As Nginx: what would end the quotes or the line stands as `\xXX`. */
function quoted(text = '-'): string {
  const safe = text
    .slice(0, 500)
    .replaceAll(/[^\x20-\x7e]|["\\]/gu, (one) =>
      [...Buffer.from(one)].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
  return `"${safe}"`;
}
