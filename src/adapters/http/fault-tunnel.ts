import { connect, type Socket } from 'node:net';

import { messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

/** The first byte of whoever begins with TLS. */
export const tlsHello = 0x16;

// Whoever speaks TLS or HTTP begins at once; any other protocol may wait for its server.
const firstWordMs = 1_000;

/** Tells the first byte, which is read again by whoever takes the socket; `undefined`: none came in time. */
export function onFirstWord(
  socket: Socket,
  head: Buffer,
  timers: Timers,
  tell: (first: number | undefined) => void,
): void {
  const heard = (chunk: Buffer): void => {
    cancel();
    socket.pause();
    socket.unshift(chunk);
    tell(chunk[0]);
    process.nextTick(() => socket.resume());
  };
  const cancel = timers.after(firstWordMs, () => {
    socket.off('data', heard);
    tell(undefined);
  });
  if (head.length > 0) heard(head);
  else socket.once('data', heard);
}

/** Lets bytes through to a host and back, until one of both ends. Who has ended already gets none. */
export function tunnel(
  socket: Socket,
  authority: string,
  { origins, log }: { readonly origins: ReadonlyMap<string, string>; readonly log: Logger },
): void {
  if (socket.destroyed || socket.readableEnded) {
    socket.destroy();
    return;
  }
  const target = new URL(origins.get(authority.replace(/:443$/, '')) ?? `https://${authority}`);
  const port = Number(target.port === '' ? (target.protocol === 'http:' ? 80 : 443) : target.port);
  const far = connect(port, target.hostname.replace(/^\[|\]$/g, ''));
  far.on('error', (error) => {
    log.debug({ authority, error: messageOf(error) }, 'a tunnel ended');
    socket.destroy();
  });
  socket.on('close', () => far.destroy());
  far.on('close', () => socket.destroy());
  socket.pipe(far).pipe(socket);
}
