import { createServer, connect, type Server, type Socket } from 'node:net';

interface Way {
  readonly from: Socket;
  readonly to: Socket;
  /** What is on its way, in order, with the time at which it arrives. */
  readonly pieces: { readonly atMs: number; readonly arrive: () => void }[];
}

/** A stretch of network between two processes of a test: it can fall silent, break, or become slow. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stranded = new Set<Socket>();
  #target = 0;
  #silent = false;
  #broken = false;
  #delayMs = 0;
  #waiting: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** Listens on a free port of this machine; where it leads to is told by {@link to}. */
  static async open(): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new TcpProxy(server);
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** Leads to this port of this machine. */
  to(port: number): void {
    this.#target = port;
  }

  /** Nothing passes any more and nobody is told; new connections are taken and get no answer. */
  silence(): void {
    this.#silent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Of the connections that stand nothing passes ever again and nobody is told, as if their host had vanished; new ones pass. */
  strand(): void {
    for (const socket of this.#sockets) {
      socket.pause();
      this.#stranded.add(socket);
    }
    this.#sockets.clear();
  }

  /** All connections end with a reset, and so does each new one. */
  break(): void {
    this.#broken = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Each piece takes so much longer, in each direction. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** As before. What was held back passes now, late. */
  heal(): void {
    this.#silent = false;
    this.#broken = false;
    this.#delayMs = 0;
    for (const go of this.#waiting.splice(0)) go();
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of [...this.#sockets, ...this.#stranded]) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#broken) {
      client.resetAndDestroy();
      return;
    }
    this.#watch(client);
    if (!this.#silent) this.#join(client);
    else this.#waiting.push(() => this.#join(client));
  }

  #join(client: Socket): void {
    if (client.destroyed) return;
    const server = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    this.#watch(server);
    this.#pass({ from: client, to: server, pieces: [] });
    this.#pass({ from: server, to: client, pieces: [] });
  }

  #watch(socket: Socket): void {
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    // Why it ended is told to the other side by its end.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#stranded.delete(socket);
    });
    if (this.#silent) socket.pause();
  }

  #pass(way: Way): void {
    const { from, to } = way;
    from.on('data', (piece) => this.#later(way, () => to.write(piece)));
    from.on('end', () => this.#later(way, () => to.end()));
    from.on('close', (failed) => this.#later(way, () => (failed ? to.resetAndDestroy() : to.destroySoon())));
    if (this.#silent) from.pause();
  }

  #later(way: Way, arrive: () => void): void {
    if (this.#delayMs === 0 && way.pieces.length === 0) {
      if (!way.to.destroyed) arrive();
      return;
    }
    way.pieces.push({ atMs: performance.now() + this.#delayMs, arrive });
    if (way.pieces.length === 1) this.#arrivals(way);
  }

  /** The first piece on its way arrives in its time, and those behind it after it. */
  #arrivals(way: Way): void {
    const [first] = way.pieces;
    if (first === undefined) return;
    setTimeout(
      () => {
        if (!way.to.destroyed) first.arrive();
        way.pieces.shift();
        this.#arrivals(way);
      },
      Math.max(0, first.atMs - performance.now()),
    );
  }
}
