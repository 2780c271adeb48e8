import { defineConfig } from 'vitest/config';

import { SlowestFirst } from './support/slowest-first.ts';

// `unit` needs nothing but Node. `services` needs a real Kafka and Redis (see test/README.md): the global setup finds or
// starts them and says which. `docker` needs a container engine. In `faults` workers, brokers, Redis or upstreams are hurt, for minutes.
const onServices = {
  globalSetup: ['support/services/global-setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // Two cores carry a broker, Redis and the suites: one file at a time keeps timings honest.
  fileParallelism: false,
};

export default defineConfig({
  test: {
    reporters: ['default'],
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          root: import.meta.dirname,
          include: ['{unit,architecture,issues}/**/*.test.ts', 'contract/**/*.embedded.test.ts'],
          exclude: ['**/*.faults.test.ts'],
          testTimeout: 60_000,
          // No test patches a global without putting it back, so that files may share a process: loading the house 350 times took
          // a minute.
          isolate: false,
        },
      },
      {
        test: {
          name: 'services',
          root: import.meta.dirname,
          include: ['contract/**/*.{kafka,redis}.test.ts', 'integration/**/*.test.ts'],
          exclude: ['**/*.{docker,faults}.test.ts'],
          ...onServices,
        },
      },
      {
        test: {
          name: 'docker',
          root: import.meta.dirname,
          include: ['integration/**/*.docker.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'faults',
          root: import.meta.dirname,
          include: ['chaos/**/*.test.ts', '**/*.faults.test.ts'],
          ...onServices,
        },
      },
    ],
  },
});
