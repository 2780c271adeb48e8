import { createServer as createTcpServer, type Server, type Socket } from 'node:net';

import { type Connection, createConnection } from 'mysql2';

/** One row of the table of rules. */
export interface RuleRow {
  readonly name: string;
  readonly position: number;
  /** JSON text. */
  readonly rule: string;
}

interface Side extends Connection {
  sequenceId: number;
  writeOk: (args?: unknown) => void;
}

const textType = 253;
const longType = 3;
const utf8 = 45;

/** A server that speaks MySQL's protocol and answers every query with the rows that it was given, when it was told to. */
export class ScriptedMysql {
  rows: readonly RuleRow[] = [];
  /** Before each answer; `Infinity`: never. */
  delayMs = 0;
  readonly queries: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createTcpServer((socket) => this.#serve(socket));
  }

  static async start(): Promise<ScriptedMysql> {
    const mysql = new ScriptedMysql();
    await new Promise<void>((listening) => mysql.#server.listen(0, '127.0.0.1', listening));
    return mysql;
  }

  get url(): string {
    const address = this.#server.address();
    return `mysql://larkspur:pw@127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/routing`;
  }

  /** Connections that are open. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Refuses connections from now on, and cuts those that are open. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((closed) => this.#server.close(() => closed()));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    // The driver has the server's half of the protocol, too.
    const side = createConnection({ stream: socket, isServer: true } as never) as Side;
    const { writeOk } = side;
    // Each command counts its packets from 0 anew, which the driver's own half does by itself alone.
    side.writeOk = (args) => {
      writeOk.call(side, args);
      side.sequenceId = 0;
    };
    side.on('error', () => undefined);
    side.serverHandshake({
      ...{ protocolVersion: 10, serverVersion: '8.0.0-scripted', connectionId: 1, statusFlags: 2 },
      ...{ characterSet: utf8, capabilityFlags: 0xffffff ^ 0x800 ^ 0x20 },
    });
    side.on('query', (sql: string) => {
      this.queries.push(sql);
      side.sequenceId = 1;
      const answer = (): void => {
        if (!socket.destroyed) {
          side.writeTextResult([...this.rows], [...columns]);
          side.sequenceId = 0;
        }
      };
      if (this.delayMs === 0) answer();
      else if (this.delayMs !== Infinity) setTimeout(answer, this.delayMs);
    });
  }
}

const column = (name: string, columnType: number) => ({
  ...{ catalog: 'def', schema: 'routing', table: 'routing_rules', orgTable: 'routing_rules', name, orgName: name },
  ...{ characterSet: utf8, columnLength: 1_024, columnType, flags: 0, decimals: 0 },
});
const columns = [column('name', textType), column('position', longType), column('rule', textType)];
