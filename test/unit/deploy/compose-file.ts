import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

/** One service of docker-compose.yml, after its merges and with the defaults of its variables. */
export interface Service {
  readonly image: string;
  /** Only started when one of them is asked for. */
  readonly profiles?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: string | readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly container_name?: string;
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas: number };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>> | readonly string[];
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
}

/** The text of a file, by its path from the root of the repository. */
export function rootFile(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
}

/** The services of docker-compose.yml as an engine sees them when nothing is set in the environment. */
export function composeServices(): Readonly<Record<string, Service>> {
  const text = rootFile('docker-compose.yml').replace(/(?<!\$)\$\{[A-Z_]+:-([^}]*)\}/g, '$1');
  return (parse(text, { merge: true }) as { readonly services: Record<string, Service> }).services;
}

/** The words of a service's command. */
export function wordsOf({ command = '' }: Service): readonly string[] {
  return typeof command === 'string' ? command.split(' ') : command;
}
