import { request, type IncomingHttpHeaders } from 'node:http';

/** What may be asked; the host header is free, which `fetch` does not allow. */
export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
}

/** One HTTP request to this machine on a connection of its own; resolves with the whole answer. */
export function httpAsk(port: number, path: string, { body, ...ask }: Ask = {}) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string; json: () => unknown }>(
    (resolve, reject) => {
      const asking = request({ host: '127.0.0.1', port, path, agent: false, ...ask }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const json = (): unknown => JSON.parse(text);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      });
      asking.on('error', reject);
      asking.end(body);
    },
  );
}
