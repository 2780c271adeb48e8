// Four upstreams in a process of its own, told by their parent how they are: well, hanging, answering 503, or slow.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Mood, Seen } from './upstreams.ts';

const delayMs = Number(process.env['DELAY_MS'] ?? 100);
const moods = new Map<string, Mood>();
const inFlight = new Map<string, number>();
const most = new Map<string, number>();
const requests = new Map<string, number>();
const body = JSON.stringify({ code: 0, data: { items: [1, 2, 3] } });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

const server = createServer((request, response) => {
  const name = (request.url ?? '/').split('/')[1] ?? '';
  const now = (inFlight.get(name) ?? 0) + 1;
  inFlight.set(name, now);
  most.set(name, Math.max(most.get(name) ?? 0, now));
  requests.set(name, (requests.get(name) ?? 0) + 1);
  // Once for each: answered, or its client went away.
  response.once('close', () => inFlight.set(name, (inFlight.get(name) ?? 1) - 1));
  request.resume();
  answer(response, moods.get(name) ?? { kind: 'well' });
});

function answer(response: ServerResponse, mood: Mood): void {
  if (mood.kind === 'hangs') return;
  const ms = mood.kind === 'slow' ? mood.ms : delayMs;
  setTimeout(() => {
    if (response.destroyed) return;
    response.writeHead(mood.kind === 'down' ? 503 : 200, headers);
    response.end(body);
  }, ms);
}

process.on('message', (message: { readonly set?: readonly [string, Mood]; readonly ask?: number }) => {
  if (message.set !== undefined) moods.set(...message.set);
  if (message.ask === undefined) return;
  const seen: Seen = { ask: message.ask, most: Object.fromEntries(most), requests: Object.fromEntries(requests) };
  process.send?.(seen);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4_096, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once('disconnect', () => process.exit(0));
