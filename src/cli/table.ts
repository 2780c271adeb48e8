/** Columns of text under their names; those that hold numbers are aligned to the right. */
export function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = names.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const numbers = names.map((_, at) => rows.length > 0 && rows.every((row) => /^[\d,.]*$/.test(row[at] ?? '')));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (numbers[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [names, ...rows].map((row) => `  ${line(row)}`).join('\n');
}
