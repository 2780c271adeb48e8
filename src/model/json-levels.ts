/**
 * Maps and lists inside each other, at most. A parser takes any depth, but writing a value as JSON needs a stack frame
 * per level: a few thousand levels, which fit into some kilobytes, end in a `RangeError`.
 */
export const mostJsonLevels = 500;

/** Whether a parsed value holds more levels of maps and lists than are allowed. */
export function nestsTooDeep(value: unknown, levels = mostJsonLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some((item) => nestsTooDeep(item, levels - 1));
}

/** What a text holds: a JSON value that can be written as JSON again, else the text itself. */
export function jsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return nestsTooDeep(value) ? text : value;
  } catch {
    return text;
  }
}
