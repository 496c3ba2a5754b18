import { describe, expect, it } from 'vitest';
import { boundJson } from '../../../src/runtime/http-server/bound-json.ts';

const look = (text: string) => () => boundJson(Buffer.from(text), { plainBytes: 100, depth: 4 });
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
    expect(look(text)).toThrow(/too much data outside its strings/);
  });
});
