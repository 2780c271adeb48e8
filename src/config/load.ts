import { existsSync, readFileSync } from 'node:fs';

import { messageOf } from '../model/errors.ts';

import { check } from './check.ts';
import { compile } from './compile.ts';
import { complete, type Complete } from './complete.ts';
import type { Config } from './config.ts';
import { type Env, interpolate, variable } from './interpolate.ts';
import { configInvalid, type Mistake, mistakeText } from './mistake.ts';
import { type Overlay, pathOfText } from './overlay.ts';
import { type Playbook, readPlaybook, strangersIn } from './playbooks.ts';
import { ruleMistakes } from './rules.ts';
import type { RawConfig } from './schema.ts';
import { merge, type Path, pathText, valueAt } from './tree.ts';
import { placeIn, readYaml } from './yaml-source.ts';

/** Settings given on the command line; they win over everything else. */
export interface ConfigFlags {
  /** `memory` or a folder. */
  readonly data?: string;
  /** `host:port` of the ingress. */
  readonly ingress?: string;
  /** `host:port` of the admin port. */
  readonly admin?: string;
  readonly logLevel?: string;
}

/** Where a configuration comes from. */
export interface ConfigInput {
  /** Default: `larkspur.yaml` in the working directory, if there is one. */
  readonly file?: string;
  /** Default: the environment of the process. */
  readonly env?: Env;
  readonly flags?: ConfigFlags;
  /** What lies over everything else for a time, the newest last. */
  readonly overlays?: readonly Overlay[];
}

/** A loaded configuration. */
export interface Loaded {
  /** `undefined`: there is none. */
  readonly file: string | undefined;
  /** What the file says; `undefined`: there is none. */
  readonly text: string | undefined;
  readonly config: Config;
  /** Every value in the words of the file; holds secrets, show it through `describe`. */
  readonly raw: RawConfig;
  /** By path text: `default`, `preset NAME`, `FILE:LINE`, `env NAME`, `flag --NAME`. */
  readonly sources: ReadonlyMap<string, string>;
  /** Settings without effect. */
  readonly warnings: readonly string[];
}

const defaultFile = 'larkspur.yaml';

/**
 * Reads, checks and completes the configuration: command line over environment over file over preset over default.
 * @throws LarkspurError `config_invalid` that lists every mistake; no secret stands in it
 */
export function loadConfig(input: ConfigInput = {}): Loaded {
  const { file, text, written, mistakes, sourceOf, fromEnv } = collect(input);
  const checked = check(written, fromEnv);
  const completed = complete(checked.sound, sourceOf);
  const pem = pemTexts(completed);
  const all = [...mistakes, ...checked.mistakes, ...ruleMistakes(completed.value, written), ...pem.mistakes];
  const plays = readPlaybooks(completed.value, input.env ?? process.env);
  if (all.length + plays.lines.length > 0) {
    // A value whose variable is missing still holds `${NAME}`: one mistake a place is enough.
    const lines = new Map<string, string>();
    for (const m of all) {
      const key = m.path.length === 0 ? m.message : pathText(m.path);
      if (!lines.has(key)) lines.set(key, mistakeText(m, sourceOf(m.path)));
    }
    throw configInvalid([...lines.values(), ...plays.lines]);
  }
  const config = compile(completed.value, pem.texts, plays.playbooks);
  const warnings: string[] = [];
  if (config.redis !== undefined && config.kafka === undefined) {
    warnings.push('redis is not used without kafka: embedded mode keeps its claims in the data folder');
  }
  return { file, text, config, raw: completed.value, sources: completed.sources, warnings };
}

interface Written {
  readonly file: string | undefined;
  readonly text: string | undefined;
  readonly written: unknown;
  readonly mistakes: readonly Mistake[];
  readonly sourceOf: (path: Path) => string;
  readonly fromEnv: (path: string) => boolean;
}

/** Everything that somebody wrote: file, environment and command line in one tree. */
function collect(input: ConfigInput): Written {
  const env = input.env ?? process.env;
  const file = input.file ?? (existsSync(defaultFile) ? defaultFile : undefined);
  const source = file === undefined ? { ...nothing, text: undefined } : readFile(file);
  const filled = interpolate(source.value ?? {}, env, readText);
  const mistakes: Mistake[] = [...source.mistakes, ...filled.mistakes];

  const layers: { readonly path: Path; readonly value: unknown; readonly source: string }[] = [];
  for (const [name, path] of variables) {
    const found = variable(env, name, readText);
    if (found.kind === 'unreadable') mistakes.push({ path, message: found.message });
    if (found.kind !== 'value') continue;
    const list = name === 'LARKSPUR_KAFKA_BROKERS';
    layers.push({ path, value: list ? found.text.split(',').map((t) => t.trim()) : found.text, source: `env ${name}` });
  }
  for (const [name, path] of flagPaths) {
    const value = input.flags?.[name];
    if (value !== undefined) layers.push({ path, value, source: `flag --${name === 'logLevel' ? 'log-level' : name}` });
  }

  for (const { source: from, values } of input.overlays ?? []) {
    for (const [path, value] of Object.entries(values)) layers.push({ path: pathOfText(path), value, source: from });
  }

  let written = filled.value;
  for (const { path, value } of layers) {
    written = merge(
      written,
      path.reduceRight((inner: unknown, step) => ({ [step]: inner }), value),
    );
  }
  return {
    file,
    text: source.text,
    written,
    mistakes,
    fromEnv: (path) => filled.names.has(path),
    sourceOf: (path) => {
      const layer = layers.findLast((l) => l.path.every((step, index) => step === path[index]));
      if (layer !== undefined) return layer.source;
      const place = file === undefined ? undefined : placeIn(file, source, path);
      if (place === undefined) return 'default';
      const name = filled.names.get(pathText(path));
      return name === undefined ? place : `${place}, env ${name}`;
    },
  };
}

const variables: readonly (readonly [string, Path])[] = [
  ['LARKSPUR_KAFKA_BROKERS', ['kafka', 'brokers']],
  ['LARKSPUR_REDIS_URL', ['redis', 'url']],
  ['LARKSPUR_ADMIN_TOKEN', ['adminToken']],
  ['LARKSPUR_DATA', ['data']],
];

const flagPaths: readonly (readonly [keyof ConfigFlags, Path])[] = [
  ['data', ['data']],
  ['ingress', ['listen', 'ingress']],
  ['admin', ['listen', 'admin']],
  ['logLevel', ['logLevel']],
];

/** The playbooks that are named, and every mistake in them. */
function readPlaybooks({ playbooks: files = [], upstreams = {} }: RawConfig, env: Env) {
  const playbooks: Playbook[] = [];
  const lines: string[] = [];
  for (const file of files) {
    try {
      const read = readPlaybook(readText(file), file, env, readText);
      if (read.playbook === undefined) lines.push(...read.lines);
      else {
        const { name } = read.playbook;
        if (playbooks.some((other) => other.name === name))
          lines.push(`${file}: name is ${name}, which another playbook has`);
        lines.push(...strangersIn(read.playbook, new Set(Object.keys(upstreams))));
        playbooks.push(read.playbook);
      }
    } catch (error) {
      lines.push(`playbooks: ${file} cannot be read: ${messageOf(error)}`);
    }
  }
  return { playbooks, lines };
}

const nothing: ReturnType<typeof readYaml> = { value: {}, lines: new Map(), mistakes: [] };

function readFile(file: string): ReturnType<typeof readYaml> & { readonly text: string | undefined } {
  try {
    const text = readText(file);
    return { ...readYaml(text, file), text };
  } catch (error) {
    const message = `${file} cannot be read: ${messageOf(error)}`;
    return { ...nothing, mistakes: [{ path: [], message }], text: undefined };
  }
}

function readText(file: string): string {
  return readFileSync(file, 'utf8');
}

function pemTexts({ value }: Complete): { texts: Map<string, string>; mistakes: Mistake[] } {
  const texts = new Map<string, string>();
  const mistakes: Mistake[] = [];
  for (const key of ['caFile', 'certFile', 'keyFile']) {
    const path = ['kafka', 'ssl', key];
    const file = valueAt(value, path);
    if (typeof file !== 'string') continue;
    try {
      texts.set(file, readText(file));
    } catch {
      mistakes.push({ path, message: `is ${file}, which cannot be read` });
    }
  }
  return { texts, mistakes };
}
