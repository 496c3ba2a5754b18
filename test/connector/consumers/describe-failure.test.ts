import { expect, it } from 'vitest';
import { describeFailure } from '../../../src/connector/consumers/describe-failure.ts';

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
])('describes %s', (_, thrown, told) => {
  expect(describeFailure(thrown)).toEqual(told instanceof RegExp ? expect.stringMatching(told) : told);
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

const LETTER = 'Please call Anna Müller back on\n+44 7700 900201, she is ill';
const change = {
  type: 'message.created',
  data: {
    id: 'm1',
    direction: 'incoming',
    peer: '447700900201',
    text: LETTER,
    label: 'Mia',
    status: 'delivered',
  },
};

it.each<readonly [string, unknown, string]>([
  ['the whole text', new Error(`cannot store ${LETTER.slice(0, 30)}`), 'Error: cannot store …'],
  ['a part of it', new Error('cannot store <Anna Müller back>'), 'Error: cannot store <…>'],
  ['a part of it in capitals', new Error('cannot store <CALL ANNA MÜLLER>'), 'Error: cannot store <…>'],
  ['a short one where it is a word', new Error('no customer Mia in Miami'), 'Error: no customer … in Miami'],
  ['its number', new Error('no customer 447700900201 here'), 'Error: no customer … here'],
  ['any number', new Error('no customer 0049 171 1234567 here'), 'Error: no customer … here'],
  ['a number in other digits', new Error('no customer ٠١٢٣٤٥٦٧٨ here'), 'Error: no customer … here'],
  ['a number of a string', '447700900299 is nobody', 'string: … is nobody'],
  [
    'no word of the protocol',
    new Error('delivered after incoming of m1'),
    'Error: delivered after incoming of m1',
  ],
  ['no small number', new Error('status 404 after 123456 ms'), 'Error: status 404 after 123456 ms'],
])('omits data of the change: %s', (_, thrown, told) => {
  if (thrown instanceof Error) thrown.stack = '';
  expect(describeFailure(thrown, change)).toBe(told);
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
