import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

/** A server that answers with its own address. */
export interface ServerAt {
  readonly port: number;
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/** Listens at one loopback address; ends with the test. @param port 0: any free one */
export async function serverAt(address: string, port: number): Promise<ServerAt> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    response.end(address);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, requests: () => requests, close };
}
