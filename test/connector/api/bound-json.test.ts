import { describe, expect, it, onTestFinished } from 'vitest';
import { boundJson } from '../../../src/connector/api/bound-json.ts';
import { runTestConnector } from '../../support/run-test-connector.ts';

const MIB = 1024 * 1024;
const check = boundJson({ plainBytes: 100, depth: 4 });
const look = (text: string) => () => check(undefined, undefined, Buffer.from(text));
const array = (items: number): string => `[${Array(items).fill('1').join(',')}]`;

describe('the bytes of a JSON body', () => {
  it.each([
    ['as deep as may be', '[[[[1]]]]'],
    ['wide and never deep', '[[],[],[],[],[],[],[],[]]'],
    ['a text of any size', `{"file":"${'a'.repeat(1_000)}"}`],
    ['brackets in a text', `{"text":"${'['.repeat(1_000)}"}`],
    ['quotes in a text', `{"text":"${'\\"['.repeat(1_000)}"}`],
    ['a backslash that ends a text', '{"a":"\\\\","b":[[[1]]]}'],
    ['as many items as may be', array(49)],
    ['no JSON at all, which the parser refuses', '{"open'],
  ])('pass: %s', (_, text) => {
    expect(look(text)).not.toThrow();
  });

  it.each([
    ['one level too deep', '[[[[[1]]]]]'],
    ['objects one level too deep', '{"a":{"a":{"a":{"a":{}}}}}'],
    ['levels behind a text that ends in a backslash', '["\\\\",[[[[1]]]]]'],
    ['too many items', array(60)],
    ['a long number', '1'.repeat(101)],
    ['nothing but spaces', ' '.repeat(101)],
    ['many empty texts', `[${Array(60).fill('""').join(',')}]`],
  ])('are refused: %s', (_, text) => {
    expect(look(text)).toThrow(/too much beside its texts/);
  });
});

it.each([
  ['brackets', '['.repeat(16 * MIB)],
  ['a few levels too many', `${'['.repeat(40)}${']'.repeat(40)}`],
  ['objects', '{"a":'.repeat(3 * MIB)],
  ['numbers', `[${'1,'.repeat(8 * MIB - 2)}1]`],
])('a send whose body is made of %s is 400, and says why', async (_, body) => {
  const { url, token, close } = await runTestConnector();
  onTestFinished(close);
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: 'invalid_request',
    message: expect.stringContaining('too many levels, or too much beside its texts'),
  });
});
