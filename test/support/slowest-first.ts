import { BaseSequencer, type TestSpecification } from 'vitest/node';

// They load something for seconds of real time. Without a run to learn from, vitest starts large files first: these small
// ones would come last, alone, while the other cores have nothing to do.
const slow = ['unit/bench/isolation', 'unit/cli/commands', 'unit/rows/drills', 'unit/runtime/routes-embedded'];

/** Files of a project as vitest orders them, but for those that are known to take long: these come first. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => slow.some((name) => moduleId.includes(`/${name}.`));
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}
