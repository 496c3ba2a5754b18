import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/support/long-first.ts';
import { PROJECTS } from './test/support/projects.ts';

const { unit, process: processes, docs, campaign } = PROJECTS;

const TESTING = fileURLToPath(new URL('src/testing/index.ts', import.meta.url));

export default defineConfig({
  // For the example, which imports it as a CRM does.
  resolve: { alias: { 'messaging-connector/testing': TESTING } },
  test: {
    projects: [
      { test: { name: 'unit', include: [...unit] } },
      {
        test: {
          name: 'service',
          include: ['{test,packages/*/test}/**/*.test.ts'],
          exclude: [...unit, ...processes, ...docs, ...campaign],
        },
      },
      { test: { name: 'process', include: [...processes] } },
      { test: { name: 'docs', include: [...docs] } },
      // They take the machine to its limits and measure what is left: two at a time, after all others. How long one
      // takes says more about the machine than about the code.
      {
        test: {
          name: 'campaign',
          include: [...campaign],
          maxWorkers: Math.max(2, availableParallelism() - 1),
          testTimeout: 900_000,
          hookTimeout: 900_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // Loading the same modules for each of hundreds of files costs more than running them. So files of a project
    // share processes: what a test changes in its process (variables, mocks, listeners), it puts back.
    isolate: false,
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: LongFirst },
    // Many tests wait for processes and sockets, so four share even a small machine well.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine is slow, not wrong: what is waited for may take its time.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    reporters: process.env['CI'] ? ['default', 'json'] : ['default'],
    // Not as an option of the reporter, which would win over --outputFile.
    outputFile: { json: '.data/test-report.json' },
  },
});
