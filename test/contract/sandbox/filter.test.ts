import { describe, expect, it } from 'vitest';
import { matchesFilter, parseFilter, writeFilter } from '../../../src/contract/sandbox/filter.ts';

const KEYS = {
  status: { description: 'the outcome', values: ['pending', 'delivered', 'dropped'] },
  connection: { description: 'the connection' },
  code: { description: 'the HTTP status', pattern: [/^\d{1,3}$/, 'an HTTP status'] },
} as const;

interface Entry {
  readonly status?: string;
  readonly connection?: string;
  readonly code?: string;
  readonly texts?: readonly string[];
}

function keeps(text: string, entry: Entry): boolean {
  const filter = parseFilter(KEYS, text);
  if (typeof filter === 'string') throw new Error(filter);
  return matchesFilter(filter, (key) => {
    if (key === null) return entry.texts ?? [];
    const value = entry[key];
    return value === undefined ? [] : [value];
  });
}

describe('a filter', () => {
  it.each<[string, Entry, boolean]>([
    ['', {}, true],
    ['status:dropped', { status: 'dropped' }, true],
    ['status:dropped', { status: 'pending' }, false],
    ['status:dropped', {}, false],
    ['!status:dropped', { status: 'pending' }, true],
    ['!status:dropped', { status: 'dropped' }, false],
    ['!connection:c1', {}, true],
    ['status:dropped status:pending', { status: 'pending' }, true],
    ['status:dropped status:pending', { status: 'delivered' }, false],
    ['!status:dropped !status:pending', { status: 'pending' }, false],
    ['status:d*', { status: 'delivered' }, true],
    ['status:d*', { status: 'pending' }, false],
    ['status:dropped connection:c1', { status: 'dropped', connection: 'c1' }, true],
    ['status:dropped connection:c1', { status: 'dropped', connection: 'c2' }, false],
    ['connection:*', { connection: 'c2' }, true],
    ['connection:*', {}, false],
    ['connection:"a b*"', { connection: 'a b*' }, true],
    ['connection:"a ""b"""', { connection: 'a "b"' }, true],
    ['connection:"a"""*', { connection: 'a"b' }, true],
    ['connection:C1', { connection: 'c1' }, false],
    ['hello', { texts: ['Say HELLO there'] }, true],
    ['!hello', { texts: ['Say HELLO there'] }, false],
    ['hello there', { texts: ['there', 'hello'] }, true],
    ['"hello there"', { texts: ['there hello'] }, false],
    ['"https://a.example/"', { texts: ['to https://a.example/hook'] }, true],
    ['  status:dropped \t code:200 ', { status: 'dropped', code: '200' }, true],
  ])('%j matches %j: %s', (text, entry, kept) => {
    expect(keeps(text, entry)).toBe(kept);
  });

  it.each([
    [
      'colour:red',
      '`colour:red` has an unknown key; the keys are status, connection, code. Put a text that contains a colon in quotation marks',
    ],
    [
      'status:dropped !toString:x',
      '`!toString:x` has an unknown key; the keys are status, connection, code. Put a text that contains a colon in quotation marks',
    ],
    [
      'connection:c1 status:lost',
      '`status:lost` has an unknown value; the values of status are pending, delivered, dropped',
    ],
    ['status:x*', '`status:x*` has an unknown value; the values of status are pending, delivered, dropped'],
    ['connection:', '`connection:` has no value; connection:* matches every value'],
    ['!', '`!` has no text'],
    ['code:ok', '`code:ok` must be an HTTP status'],
    ['"never ends', 'has a quotation mark that is not closed'],
  ])('%j is rejected with the token, the key and the existing keys', (text, problem) => {
    expect(parseFilter(KEYS, text)).toBe(problem);
  });

  it('truncates a long token in an error', () => {
    expect(parseFilter(KEYS, `status:${'x'.repeat(900)}`)).toBe(
      `\`status:${'x'.repeat(53)}…\` has an unknown value; the values of status are pending, delivered, dropped`,
    );
  });
});

it.each([
  '',
  'status:dropped status:pending !connection:c1 hello',
  'status:d* connection:* !code:200 *',
  'connection:"a b*" "hello there" !"x:y" "!no"',
  'connection:a" "b* he"ll o"',
  'connection:"a ""b""" connection:"""a"* """"',
])('a filter is written in the form in which it is read: %j', (text) => {
  const filter = parseFilter(KEYS, text);
  expect(parseFilter(KEYS, writeFilter(filter as never))).toEqual(filter);
});
