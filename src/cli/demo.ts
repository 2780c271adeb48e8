import { type Command, InvalidArgumentError } from 'commander';

import { painted, progressView, type Screen } from '../runtime/demo/progress-view.ts';
import { type DemoParts, runDemo } from '../runtime/demo/run-demo.ts';
import { faultMixText } from '../runtime/demo/scene.ts';
import { summaryLines, verdictLines } from '../runtime/demo/summary.ts';
import { printReport } from '../runtime/report.ts';
import { untilStopped } from '../runtime/until-stopped.ts';

/** What the command line sets. */
export interface DemoCommandOptions {
  readonly calls: number;
  readonly keys: number;
  readonly seed: number;
  readonly data?: string;
  readonly json?: boolean;
}

/** Where the demo shows itself. */
export interface DemoScreens {
  readonly out: Screen;
  readonly err: Screen;
  /** Resolves when the user wants it to end. */
  readonly stop: Promise<unknown>;
}

// What shells report for a process that Ctrl-C ended.
const interruptedExitCode = 130;

/** `larkspur demo`. */
export function demoCommand(command: Command): void {
  command
    .option('--calls <n>', 'how many calls', positive, 1_000)
    .option('--keys <n>', 'how many chats they are for; each keeps its order', positive, 50)
    .option('--seed <n>', 'decides the kinds of calls and the draws of faults', whole, 1)
    .option('--data <folder>', "folder of the store, kept afterwards; or 'memory' (default: a temporary folder)")
    .option('--json', 'print the report as one JSON object; everything else goes to standard error')
    .action(async (options: DemoCommandOptions) => {
      const screens = { out: process.stdout, err: process.stderr, stop: untilStopped() };
      process.exitCode = await demo(options, screens);
    });
}

/**
 * Runs the demo and shows it.
 * @param parts what a test replaces
 * @returns the exit code: 0 only if nothing was lost, done twice or out of order
 */
export async function demo(options: DemoCommandOptions, screens: DemoScreens, parts?: DemoParts): Promise<number> {
  const { calls, keys, seed, data, json = false } = options;
  const screen = json ? screens.err : screens.out;
  const say = (...lines: string[]): void => void screen.write(lines.map((text) => `${text}\n`).join(''));
  const indented = (lines: readonly string[]): string[] => lines.map((text) => (text === '' ? '' : `  ${text}`));
  const view = progressView(screen);
  const watch = {
    started: (about: { data: string }) =>
      say(
        '',
        `  Larkspur demo: ${calls.toLocaleString('en-US')} calls for ${Math.min(keys, calls)} chats, to a Feishu sandbox that fails on purpose`,
        `  ${faultMixText}; store: ${about.data}`,
        '',
      ),
    progress: view.update.bind(view),
    stop: screens.stop,
  };
  try {
    const end = await runDemo({ calls, keys, seed, data }, watch, parts);
    view.close();
    if (end.kind === 'stopped') {
      say(`  stopped after ${end.ended} of ${calls} calls; nothing was checked`);
      return interruptedExitCode;
    }
    const verdict = indented(verdictLines(end.report, end.figures)).map((text) =>
      text.replace(/✔|✘|PASS|FAIL/, (word) => painted(screen, /✔|PASS/.test(word) ? 'green' : 'red', word)),
    );
    say(...indented(summaryLines(end.figures)), '', ...verdict, '');
    if (json) return printReport(end.report, true, (text) => void screens.out.write(`${text}\n`));
    return end.report.pass ? 0 : 1;
  } finally {
    view.close();
  }
}

function positive(text: string): number {
  const value = whole(text);
  if (value < 1) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
  return Number(text);
}
