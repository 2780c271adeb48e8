// The upstream of the throughput bench, in a process of its own: answers every request after `DELAY_MS`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const delayMs = Number(process.env['DELAY_MS'] ?? 0);
const answer = JSON.stringify({ code: 0, msg: 'success', data: { message_id: 'om_0123456789abcdef0123456789abcdef' } });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) };

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    const reply = (): void => {
      response.writeHead(200, headers);
      response.end(answer);
    };
    if (delayMs === 0) reply();
    else setTimeout(reply, delayMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4_096, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once('disconnect', () => process.exit(0));
