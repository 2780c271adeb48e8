import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const names = [process.env['LARKSPUR_CHROMIUM'], 'chromium', 'chromium-browser', 'google-chrome'];

/** The browser of this machine, or `undefined`: LARKSPUR_CHROMIUM names one, else it is looked for on the path. */
export async function findBrowser(): Promise<string | undefined> {
  for (const name of names) {
    if (name === undefined || name === '') continue;
    const here = await run(name, ['--version']).then(
      () => true,
      () => false,
    );
    if (here) return name;
  }
  return undefined;
}

/** A page as a browser has it after some seconds: its document, and a picture where a file for it is named. */
export async function visit(
  browser: string,
  url: string,
  { width, height, picture }: { readonly width: number; readonly height: number; readonly picture?: string },
): Promise<string> {
  const profile = mkdtempSync(join(tmpdir(), 'larkspur-browser-'));
  const shared = [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--virtual-time-budget=4000'],
    ...[`--user-data-dir=${profile}`, `--window-size=${width},${height}`],
  ];
  try {
    if (picture !== undefined) await run(browser, [...shared, `--screenshot=${picture}`, url]);
    const { stdout } = await run(browser, [...shared, '--dump-dom', url], { maxBuffer: 8 * 1_048_576 });
    return stdout;
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
}
