import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the paths of the documents start. */
export const root = join(import.meta.dirname, '../../..');

/** A file of the project as text. */
export const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** One fenced block. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

const fence = /^```(\w*)\n(.*?)^```$/gms;

/** Every fenced block, in order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(fence)].map(([, language = '', text = '']) => ({ language, text }));
}

/** What is not fenced. */
const prose = (markdown: string): string => markdown.replace(fence, '');

/** The levels of all headings, in order. */
export function headingLevels(markdown: string): number[] {
  return [...prose(markdown).matchAll(/^(#+) \S/gm)].map(([, marks = '']) => marks.length);
}

/** Targets of all links that stay inside the project. */
export function linksOf(markdown: string): string[] {
  const targets = [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** Everything in backticks outside of blocks. */
export function codeOf(markdown: string): string[] {
  return [...prose(markdown).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** The cells of all table rows, without heads and rules, of the section that begins with a heading of that number. */
export function rowsOf(markdown: string, section: number): string[][] {
  const parts = prose(markdown).split(/^#+ .*$/m);
  const tables = (parts[section] ?? '').matchAll(/(?:^\|.*\|$\n?)+/gm);
  return [...tables].flatMap(([table]) =>
    table
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split(' | ')
          .map((cell) => cell.trim()),
      ),
  );
}
