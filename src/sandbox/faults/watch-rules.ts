import { readFile } from 'node:fs/promises';

import { parse } from 'yaml';

import type { SandboxTimers } from '../world-ports.ts';

const lookEveryMs = 1_000;

/** A set of rules, or every mistake in it with its place. */
type Parsed<Rule> =
  | { readonly rules: readonly Rule[]; readonly mistakes?: never }
  | { readonly rules?: never; readonly mistakes: readonly string[] };

/** Where rules come from, and what goes wrong with them. */
export interface RulesWatch {
  /** Mistakes of the file as it is now; the rules before them stay in force. */
  readonly mistakes: readonly string[];
  stop(): void;
}

/**
 * Reads rules from a JSON or YAML file, and again within two seconds of a change. It compares contents instead of
 * listening to the file system: a mounted ConfigMap swaps a symbolic link two levels up, of which no watcher on the
 * file itself hears. An absent file means no rules, so a file may come later.
 * @param complain told once for each text of the file that has mistakes
 */
export async function watchRules<Rule>(
  file: string,
  timers: SandboxTimers,
  parse: (value: unknown) => Parsed<Rule>,
  apply: (rules: readonly Rule[]) => void,
  complain: (mistakes: readonly string[]) => void = () => undefined,
): Promise<RulesWatch> {
  let seen: string | undefined;
  let mistakes: readonly string[] = [];
  let cancel = (): void => undefined;
  let isStopped = false;

  const look = async (): Promise<void> => {
    const content = await contentOf(file);
    if (isStopped || content === seen) return;
    seen = content;
    const read = rulesIn(content, parse);
    mistakes = read.mistakes ?? [];
    if (read.rules === undefined) complain(mistakes);
    else apply(read.rules);
  };
  const again = (): void => {
    if (isStopped) return;
    cancel = timers.after(lookEveryMs, () => void look().finally(again));
  };

  await look();
  again();
  return {
    get mistakes() {
      return mistakes;
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return '';
  }
}

function rulesIn<Rule>(content: string, check: (value: unknown) => Parsed<Rule>): Parsed<Rule> {
  try {
    // JSON is YAML, so one parser reads both.
    return check(parse(content) ?? []);
  } catch (error) {
    return { mistakes: [error instanceof Error ? error.message : String(error)] };
  }
}
