import { accessSync, constants, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';

import type { Address, Config } from '../../config/config.ts';

import { bad, type Finding, ok, warn } from './finding.ts';

const oldestNode = [20, 19] as const;

/** Whether this Node can run Larkspur. @param version as in `process.versions.node` */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fine = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  return fine
    ? ok('node', `Node ${version}`)
    : bad('node', `Node ${version} is too old`, `install Node ${oldestNode.join('.')} or newer`);
}

/** Whether the two ports are free. A taken one is a warning: it may be Larkspur itself. */
export async function portFindings(listen: Config['listen']): Promise<Finding[]> {
  return Promise.all(
    Object.entries(listen).map(async ([name, address]: [string, Address]) => {
      const code = await listenError(address);
      const where = `${address.host}:${address.port}`;
      if (code === undefined) return ok(`port-${name}`, `${where} is free`);
      if (code === 'EADDRINUSE') {
        const cure = `nothing, if Larkspur runs here already; else set listen.${name} to another port`;
        return warn(`port-${name}`, `${where} is in use`, cure);
      }
      return bad(
        `port-${name}`,
        `${where} cannot be taken: ${code}`,
        `set listen.${name} to an address of this machine`,
      );
    }),
  );
}

function listenError({ host, port }: Address): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)));
  });
}

/** Whether the data folder can be written, or made. */
export function dataFinding(data: string): Finding {
  if (data === 'memory')
    return warn('data', 'data lives in memory', 'set data to a folder, or all is lost with the process');
  let folder = resolve(data);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return ok('data', folder === resolve(data) ? `${data} can be written` : `${data} can be made`);
  } catch {
    return bad(
      'data',
      `${folder} cannot be written`,
      'set data (or LARKSPUR_DATA) to a folder that this user may write',
    );
  }
}
