import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/support/long-first.ts';
import { PROJECTS } from './test/support/projects.ts';

const { unit, process: processes, docs, long, campaign } = PROJECTS;

const TESTING = fileURLToPath(new URL('src/testing/index.ts', import.meta.url));

/**
 * For tests that take the machine to its limits or measure time: two files at once, after all other projects. How long
 * one takes says more about the machine than about the code.
 */
const AFTER_OTHERS = {
  maxWorkers: Math.max(2, availableParallelism() - 1),
  testTimeout: 900_000,
  hookTimeout: 900_000,
  sequence: { groupOrder: 1 },
};

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
          exclude: [...unit, ...processes, ...docs, ...long, ...campaign],
        },
      },
      { test: { name: 'process', include: [...processes] } },
      { test: { name: 'docs', include: [...docs] } },
      { test: { name: 'long', include: [...long], ...AFTER_OTHERS } },
      { test: { name: 'campaign', include: [...campaign], ...AFTER_OTHERS } },
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
