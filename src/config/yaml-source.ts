import { isCollection, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

import { nestsTooDeep } from '../model/json-levels.ts';

import type { Mistake } from './mistake.ts';
import { type Path, pathText } from './tree.ts';

/** A YAML text, read. */
export interface YamlSource {
  readonly value: unknown;
  /** Line of each value, by path text. */
  readonly lines: ReadonlyMap<string, number>;
  readonly mistakes: readonly Mistake[];
}

/** Parses a configuration file. Bad YAML becomes mistakes with line and column; texts of the file are not repeated. */
export function readYaml(text: string, file: string): YamlSource {
  const counter = new LineCounter();
  const doc = parseDocument(text, { lineCounter: counter, prettyErrors: false, uniqueKeys: true });
  const mistakes = doc.errors.map((error) => {
    const at = counter.linePos(error.pos[0]);
    // The parser quotes what it stumbled over, which may be a secret.
    const what = error.message.split('\n')[0]?.replace(/(["'`]).*\1/g, '...') ?? 'is not YAML';
    return { path: [], message: `${file}:${at.line}:${at.col}: ${what}` };
  });
  if (mistakes.length > 0) return { value: undefined, lines: new Map(), mistakes };

  const lines = new Map<string, number>();
  const visit = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      for (const pair of node.items) {
        const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
        const range = isScalar(pair.key) ? pair.key.range : undefined;
        if (range) lines.set(pathText([...path, key]), counter.linePos(range[0]).line);
        visit(pair.value, [...path, key]);
      }
    } else if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        const range = isScalar(item) || isCollection(item) ? item.range : undefined;
        if (range) lines.set(pathText([...path, index]), counter.linePos(range[0]).line);
        visit(item, [...path, index]);
      }
    }
  };
  visit(doc.contents, []);
  try {
    const value: unknown = doc.toJS({ maxAliasCount: 100 });
    // A map with an alias of itself nests without end.
    if (!nestsTooDeep(value)) return { value, lines, mistakes: [] };
  } catch {
    // Told below, as what it is to the reader of the file.
  }
  const message = `${file}: an alias has no anchor, holds itself or expands too far`;
  return { value: undefined, lines, mistakes: [{ path: [], message }] };
}

/** Where a value stands, or else the nearest part around it, as `FILE:LINE`; `undefined`: nowhere. A missing key has no line of its own. */
export function placeIn(file: string, { lines }: Pick<YamlSource, 'lines'>, path: Path): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const line = lines.get(pathText(path.slice(0, length)));
    if (line !== undefined) return `${file}:${line}`;
  }
  return undefined;
}
