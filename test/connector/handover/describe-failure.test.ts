import { expect, it } from 'vitest';
import { describeFailure } from '../../../src/connector/handover/describe-failure.ts';

it.each<readonly [string, unknown, string | RegExp]>([
  ['an error with its line', new RangeError('too much'), /^RangeError: too much \(test\/.+\.test\.ts:\d+\)$/],
  [
    'a code',
    withoutStack(Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })),
    'Error ECONNREFUSED: no route',
  ],
  ['no quoted text', withoutStack(new Error('cannot store "Hello Anna"')), 'Error: cannot store "…"'],
  ['no message', withoutStack(new Error('')), 'Error: no message'],
  ['a text', 'just a text', 'string: just a text'],
  ['nothing', undefined, 'undefined: not an error'],
  ['what the database could not hold', withoutStack(new Error('a\0b\ud800c')), 'Error: a\ufffdb\ufffdc'],
  ['an error that lies', lying(), /^Error: no message$/],
])('tells %s', (_, thrown, told) => {
  expect(describeFailure(thrown)).toEqual(told instanceof RegExp ? expect.stringMatching(told) : told);
});

it('names the line of the CRM, not that of a package or of ours', () => {
  const error = new Error('x');
  error.stack = `Error: x
    at parse (file:///crm/node_modules/pg/lib/client.js:10:3)
    at runLane (${new URL('../../../src/connector/handover/run-lane.ts', import.meta.url).href}:10:3)
    at async onChange (file://${process.cwd()}/crm/handlers.mjs:12:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)`;
  expect(describeFailure(error)).toBe('Error: x (crm/handlers.mjs:12)');
});

function withoutStack<E extends Error>(error: E): E {
  error.stack = '';
  return error;
}

function lying(): Error {
  const error = new Error('never shown');
  for (const field of ['message', 'stack']) {
    Object.defineProperty(error, field, {
      get() {
        throw new Error('no');
      },
    });
  }
  return error;
}
