import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { createConnection } from 'mysql2/promise';

const run = promisify(execFile);
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

function programOf(name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

const server = programOf('mariadbd');
const install = programOf('mariadb-install-db');

/** Why no server of our own can be started here, or `''`. */
export const mysqlMissing =
  server !== undefined && install !== undefined ? '' : 'no mariadbd; Debian has it in the package mariadb-server';

/** A MariaDB of a test, with an empty database `routing` and a user for it. */
export class LocalMysql {
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    this.url = `mysql://larkspur:pw@127.0.0.1:${port}/routing`;
  }

  /** Takes some seconds: a new data folder is made. */
  static async start(): Promise<LocalMysql> {
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-mysql-'));
    const mysql = new LocalMysql(folder, await freePort());
    const data = ['--no-defaults', `--datadir=${folder}`, '--user=root'];
    await run(install ?? '', [...data, '--auth-root-authentication-method=normal', '--skip-test-db']);
    await mysql.up();
    const root = await createConnection({ host: '127.0.0.1', port: mysql.#port, user: 'root' });
    await root.query('CREATE DATABASE routing CHARACTER SET utf8mb4');
    await root.query("CREATE USER larkspur@'127.0.0.1' IDENTIFIED BY 'pw'");
    await root.query("GRANT ALL ON routing.* TO larkspur@'127.0.0.1'");
    await root.end();
    return mysql;
  }

  /** Starts the server, and waits until it answers. */
  async up(): Promise<void> {
    const where = [`--datadir=${this.#folder}`, `--socket=${join(this.#folder, 's.sock')}`, `--port=${this.#port}`];
    const small = [
      '--innodb-buffer-pool-size=32M',
      '--skip-log-bin',
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
    ];
    this.#child = spawn(server ?? '', ['--no-defaults', '--user=root', ...where, ...small], {
      stdio: 'ignore',
      cwd: dirname(this.#folder),
    });
    for (let tries = 0; ; tries++) {
      try {
        const root = await createConnection({ host: '127.0.0.1', port: this.#port, user: 'root' });
        await root.end();
        return;
      } catch (error) {
        if (tries > 200) throw error;
        await sleep(100);
      }
    }
  }

  /** Runs statements as the user of the database. */
  async query(sql: string, values: readonly unknown[] = []): Promise<unknown> {
    const connection = await createConnection(this.url);
    const [rows] = await connection.query(sql, [...values]);
    await connection.end();
    return rows;
  }

  /** It stands still and tells nobody, until it goes on. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** It goes on. */
  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening));
  const address = probe.address();
  await new Promise((closed) => probe.close(closed));
  return address !== null && typeof address === 'object' ? address.port : 0;
}
