import { type Static, Type } from '@sinclair/typebox';
import { Cron } from 'croner';

import { detailedCheck } from '../../config/check.ts';
import { configInvalid, type Mistake, mistakeText } from '../../config/mistake.ts';
import { placeIn, readYaml } from '../../config/yaml-source.ts';
import { messageOf } from '../../model/errors.ts';

const scheduleSchema = Type.Object(
  {
    timezone: Type.Optional(Type.String({ minLength: 1, description: 'as Asia/Shanghai; default UTC' })),
    runs: Type.Array(
      Type.Object(
        {
          cron: Type.String({ minLength: 1, description: 'minute hour day month weekday' }),
          scenarios: Type.Array(Type.String({ minLength: 1 }), {
            minItems: 1,
            maxItems: 1_000,
            description: 'files, from the folder of the schedule; each time one of them by chance',
          }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 100 },
    ),
  },
  { additionalProperties: false },
);

/** When which scenarios run. */
export interface Schedule {
  readonly runs: readonly {
    readonly scenarios: readonly string[];
    /** The first time after an instant, both in epoch milliseconds; `undefined`: never again. */
    nextAfter(wallMs: number): number | undefined;
  }[];
}

const check = detailedCheck(scheduleSchema);

/** Reads the text of a schedule. @throws LarkspurError `config_invalid` with every mistake and its line */
export function readSchedule(text: string, file: string): Schedule {
  const source = readYaml(text, file);
  const found = source.mistakes.length > 0 ? source.mistakes : check(source.value ?? {});
  const raw = source.value as Static<typeof scheduleSchema>;
  const crons = found.length > 0 ? [] : raw.runs.map(({ cron }, index) => cronOf(cron, raw.timezone ?? 'UTC', index));
  const mistakes = [...found, ...crons.flatMap((cron) => ('message' in cron ? [cron] : []))];
  if (mistakes.length > 0) {
    throw configInvalid(
      mistakes.map((mistake) => mistakeText(mistake, placeIn(file, source, mistake.path))),
      file,
      'correct the lines above',
    );
  }
  return {
    runs: crons.flatMap((cron, index) =>
      'message' in cron
        ? []
        : [
            {
              scenarios: raw.runs[index]?.scenarios ?? [],
              nextAfter: (wallMs: number) => cron.nextRun(new Date(wallMs))?.getTime(),
            },
          ],
    ),
  };
}

function cronOf(pattern: string, timezone: string, index: number): Cron | Mistake {
  try {
    const cron = new Cron(pattern, { timezone, paused: true });
    // A time zone that does not exist is noticed when it is first used.
    cron.nextRun();
    return cron;
  } catch (error) {
    return { path: ['runs', index, 'cron'], message: `is ${pattern}, which is no time: ${messageOf(error)}` };
  }
}
