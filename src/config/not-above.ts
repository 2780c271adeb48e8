import type { Path } from './tree.ts';

/** Takes one mistake. */
export type Report = (path: Path, message: string) => void;

/** An inner limit above an outer one never takes effect: somebody misread one of the two. */
export function notAbove(
  report: Report,
  path: Path,
  inner: number | undefined,
  outerName: string,
  outer: number | undefined,
): void {
  if (inner !== undefined && outer !== undefined && inner > outer) {
    report(path, `is ${inner}, must not be above ${outerName} (${outer})`);
  }
}
