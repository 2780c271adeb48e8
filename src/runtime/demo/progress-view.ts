import { styleText } from 'node:util';

import { liveLines, plainLine, RateTrack } from './progress-lines.ts';
import type { Progress } from './progress.ts';

/** Where the view is drawn: standard output or error, or a stand-in. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Shows how a run goes on. */
export interface ProgressView {
  /** Told each look; draws when it is time to. */
  update(progress: Progress): void;
  /** Draws the last state and leaves the screen as other lines expect it. A second call does nothing. */
  close(): void;
}

/** Text in a colour where the screen shows colours, else as it is. https://no-color.org */
export function painted(screen: Screen, colour: 'green' | 'red', text: string): string {
  const plain = screen.isTTY !== true || (process.env['NO_COLOR'] ?? '') !== '';
  // Whether there are colours was decided for this screen, which need not be standard output.
  return plain ? text : styleText(colour, text);
}

const plainEveryMs = 1_000;
const margin = '  ';
const up = (lines: number): string => `\u001b[${lines}A`;
const toEnd = '\u001b[J';
const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';

/** Paints in place on a terminal, else writes a line a second. */
export function progressView(screen: Screen): ProgressView {
  return screen.isTTY === true ? inPlace(screen) : inLines(screen);
}

function inPlace(screen: Screen): ProgressView {
  const track = new RateTrack();
  let rows = 0;
  let open = true;
  return {
    update(progress) {
      track.look(progress);
      // A line that wraps would take two rows and spoil the way back up.
      const most = Math.max(20, (screen.columns ?? 80) - 1);
      const lines = liveLines(progress, track).map((text) => clip(margin + text, most));
      const shown = lines.join('\n').replace(/█+/, (cells) => painted(screen, 'green', cells));
      screen.write(`${rows === 0 ? hideCursor : up(rows)}\r${toEnd}${shown}\n`);
      rows = lines.length;
    },
    close() {
      if (open && rows > 0) screen.write(`${showCursor}\n`);
      open = false;
    },
  };
}

function inLines(screen: Screen): ProgressView {
  const track = new RateTrack();
  let nextMs = plainEveryMs;
  let last: Progress | undefined;
  return {
    update(progress) {
      track.look(progress);
      last = progress;
      if (progress.elapsedMs < nextMs) return;
      nextMs = progress.elapsedMs + plainEveryMs;
      screen.write(`${plainLine(progress, track)}\n`);
      last = undefined;
    },
    close() {
      if (last !== undefined) screen.write(`${plainLine(last, track)}\n`);
      last = undefined;
    },
  };
}

function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
