/**
 * Maps and lists inside each other, at most. A parser takes any depth, but writing a value as JSON needs a stack frame
 * per level: a few thousand levels, which fit into some kilobytes, end in a `RangeError`.
 */
export const mostJsonLevels = 500;

/** Whether a parsed value holds more levels of maps and lists than are allowed. */
export function nestsTooDeep(value: unknown, levels = mostJsonLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => nestsTooDeep(item, levels - 1));
  const map = value as Readonly<Record<string, unknown>>;
  // No list of the values is made: every call and its answer come through here.
  for (const name in map) if (nestsTooDeep(map[name], levels - 1)) return true;
  return false;
}

/** The JSON value that a text is; `undefined`: it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What a text holds: a JSON value that can be written as JSON again, else the text itself. */
export function jsonOrText(text: string): unknown {
  const value = jsonOf(text);
  // Each level takes two characters, so most answers need not be walked through.
  return value === undefined || (text.length > 2 * mostJsonLevels && nestsTooDeep(value)) ? text : value;
}
