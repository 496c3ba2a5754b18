import { describe, expect, it } from 'vitest';
import { describeFault } from '../../../src/runtime/logger/describe-fault.ts';
import { maskSecrets, scrubText } from '../../../src/runtime/logger/scrub-text.ts';

const WORDS = 'Anna 447700900201';

class DatabaseError extends Error {}

/** Text in place of a class, a code or a location. */
const HIDING: readonly (readonly [string, unknown])[] = [
  ['the message', new Error(WORDS)],
  ['a cause', new Error('x', { cause: new Error(WORDS) })],
  ['the errors of an AggregateError', new AggregateError([new Error(WORDS)], WORDS)],
  ['the name', Object.assign(new Error('x'), { name: 'Anna' })],
  ['a name with digits', Object.assign(new Error('x'), { name: 'E447700900201Error' })],
  ['the code', Object.assign(new Error('x'), { code: '447700900201' })],
  ['a code of one word', Object.assign(new Error('x'), { code: 'Anna' })],
  ['a code that is a number', Object.assign(new Error('x'), { code: 447_700_900_201 })],
  ['the stack', Object.assign(new Error('x'), { stack: `Error: ${WORDS}\n    at Anna (/447700900201:1:1)` })],
  ['a line of the message like a frame', new Error(`x\n    at Anna (/tmp/447700900201:12:1)\n/Anna:7`)],
  [
    'a line number',
    Object.assign(new Error('x'), { stack: `    at f (${import.meta.filename}:447700900201)` }),
  ],
  ['a text', WORDS],
  ['an object', { message: WORDS, name: WORDS, code: WORDS }],
  ['an object of a class of that name', new (class Anna447700900201 {})()],
  ['a symbol', Symbol(WORDS)],
];

describe('the description of a fault', () => {
  it.each(HIDING)('contains no text of %s', (_what, thrown) => {
    expect(JSON.stringify(describeFault(thrown))).not.toMatch(/Anna|4477/);
  });

  it.each([
    [new TypeError('x'), { errorType: 'TypeError' }],
    [new DatabaseError('x'), { errorType: 'DatabaseError' }],
    [Object.assign(new Error('x'), { name: 'NotFoundException' }), { errorType: 'NotFoundException' }],
    [
      Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
      { errorType: 'Error', errorCode: 'ECONNREFUSED' },
    ],
    [Object.assign(new Error('x'), { code: '23505' }), { errorType: 'Error', errorCode: '23505' }],
    [
      Object.assign(new Error('x'), { code: 'auth/denied' }),
      { errorType: 'Error', errorCode: 'auth/denied' },
    ],
    [Object.assign(new Error('x'), { code: 404 }), { errorType: 'Error', errorCode: 404 }],
    ['x', { errorType: 'string' }],
    [undefined, { errorType: 'undefined' }],
    [null, { errorType: 'object' }],
    [Object.create(null), { errorType: 'Error' }],
  ])('contains class and code: %#', (thrown, expected) => {
    if (thrown instanceof Error) thrown.stack = '';
    expect(describeFault(thrown)).toEqual(expected);
  });

  it('contains the location', () => {
    expect(describeFault(new Error('x')).location).toMatch(
      /^test\/runtime\/logger\/describe-fault\.test\.ts:\d+$/,
    );
  });

  it('survives an error whose properties throw', () => {
    const lie = new Proxy(new Error('x'), {
      get() {
        throw new Error('no');
      },
      getPrototypeOf() {
        throw new Error('no');
      },
    });
    expect(describeFault(lie)).toEqual({ errorType: 'Error' });
  });
});

describe('scrubbing a text', () => {
  /** Input that takes quadratic time if a pattern can begin at each character and read to the end. */
  const HOSTILE = ['a-', 'a.', 'token', 'bearer ', '"', 'a:/', '{', 'x '];

  it.each(HOSTILE)('takes time linear in the length of a text of %j', (part) => {
    const cost = (length: number): number => {
      const text = part.repeat(length / part.length);
      const begun = process.cpuUsage();
      for (let round = 0; round < 20; round += 1) maskSecrets(scrubText(text) + text);
      return process.cpuUsage(begun).user / 1_000;
    };
    cost(1_000);
    // Linear time would be ten times as much, quadratic time a hundred times.
    expect(cost(1_000_000)).toBeLessThan(40 * (cost(100_000) + 10));
  });

  it('shows no part of a secret where it is truncated', () => {
    const secret = 'sK9vQ2xT7bN4mW8cR1zL5';
    for (let before = 100; before < 600; before += 1) {
      const text = `${'w '.repeat(before / 2)}${secret.repeat(3)}`;
      for (const shown of [scrubText(text, 300), maskSecrets(text, 300)])
        expect(shown).not.toContain(secret.slice(0, 6));
    }
  });

  it('hides the value of a long name', () => {
    expect(scrubText(`${'x'.repeat(80)}_token=abc def`)).toBe(`${'x'.repeat(80)}_token=[hidden] def`);
    expect(scrubText('401 for basic dTpw and Bearer abc')).toBe('401 for basic [hidden] and Bearer [hidden]');
  });
});
