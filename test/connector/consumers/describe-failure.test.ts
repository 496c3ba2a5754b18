import { expect, it } from 'vitest';
import { describeFailure, describeRefusal } from '../../../src/connector/consumers/describe-failure.ts';

it.each<readonly [string, unknown, string | RegExp]>([
  ['an error with its line', new RangeError('too much'), /^RangeError: too much \(test\/.+\.test\.ts:\d+\)$/],
  [
    'a code',
    withoutStack(Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })),
    'Error ECONNREFUSED: no route',
  ],
  [
    'a quoted text',
    withoutStack(new Error('contact "Anna Maria" not found')),
    'Error: contact "Anna Maria" not found',
  ],
  [
    'several lines, of which the first is empty',
    withoutStack(
      new Error(
        '\nInvalid `prisma.contact.create()` invocation:\n\n\nUnique constraint failed on the (`phone`)',
      ),
    ),
    'Error: Invalid `prisma.contact.create()` invocation: Unique constraint failed on the (`phone`)',
  ],
  [
    'a list of problems as JSON',
    withoutStack(new Error('[\n  {\n    "path": [\n      "peer"\n    ],\n    "message": "Required"\n  }\n]')),
    'Error: [ { "path": [ "peer" ], "message": "Required" } ]',
  ],
  [
    'the answer of an endpoint',
    withoutStack(new Error('the consumer answered 500: {"error":"column customer_id is missing"}')),
    'Error: the consumer answered 500: {"error":"column customer_id is missing"}',
  ],
  [
    'no secret within JSON',
    withoutStack(
      new Error('{"token":"short","auth":"Bearer abc","url":"db://u:pass@host/x","why":"expired"}'),
    ),
    'Error: {"token":[hidden],"auth":"Bearer [hidden]","url":"db://host/x","why":"expired"}',
  ],
  [
    '300 characters of an answer, however long it is',
    withoutStack(new Error(`the consumer answered 500: ${'{"a":"b c"},'.repeat(500)}`)),
    /^Error: the consumer answered 500: (?:\{"a":"b c"\},){25}.{0,12}…$/,
  ],
  [
    'a message with what it is about',
    withoutStack(new Error('no customer Anna, 447700900201')),
    'Error: no customer Anna, 447700900201',
  ],
  [
    'no secret',
    withoutStack(new Error('refused: Bearer abcdefghijklmnop')),
    'Error: refused: Bearer [hidden]',
  ],
  ['no message', withoutStack(new Error('')), 'Error: no message'],
  ['a text', 'just a text', 'string: just a text'],
  ['nothing', undefined, 'undefined: not an error'],
  ['what the database could not hold', withoutStack(new Error('a\0b\ud800c')), 'Error: a\ufffdb\ufffdc'],
  ['an error that lies', lying(), /^Error: no message$/],
])('describes %s', (_, thrown, told) => {
  expect(describeFailure(thrown)).toEqual(told instanceof RegExp ? expect.stringMatching(told) : told);
});

it('shows no text of the change where nobody erases it', () => {
  const error = withoutStack(new Error('the consumer answered 410: {"text":"Hello Anna"}'));
  expect(describeRefusal(error)).toBe('Error: the consumer answered 410: …');
});

it('names the line in the code of the CRM, not in a package or in the connector', () => {
  const error = new Error('x');
  error.stack = `Error: x
    at parse (file:///crm/node_modules/pg/lib/client.js:10:3)
    at runQueue (${new URL('../../../src/connector/dispatch/run-queue.ts', import.meta.url).href}:10:3)
    at async onChange (file://${process.cwd()}/examples/crm-handler/handlers.ts:12:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)`;
  expect(describeFailure(error)).toBe('Error: x (examples/crm-handler/handlers.ts:12)');
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
