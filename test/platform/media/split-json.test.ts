import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSplitter } from '../../../src/platform/media/split-json.ts';

/** Takes a text apart in pieces of `size` bytes; the taken strings and the rest, `@` for each one taken. */
function takeApart(json: string, size: number) {
  const splitter = new JsonSplitter(['media', 'data']);
  const taken: Buffer[] = [];
  const rest: Buffer[] = [];
  const bytes = Buffer.from(json);
  for (let at = 0; at < bytes.length; at += size) {
    for (const part of splitter.split(bytes.subarray(at, at + size))) {
      if (part.kind === 'rest') rest.push(part.bytes);
      if (part.kind === 'begin') {
        taken.push(Buffer.alloc(0));
        rest.push(Buffer.from('@'));
      }
      if (part.kind === 'text') taken.push(Buffer.concat([taken.pop() ?? Buffer.alloc(0), part.bytes]));
    }
  }
  return { taken: taken.map(String), rest: Buffer.concat(rest).toString() };
}

const SIZES = [1, 2, 3, 5, 7, 64, 100_000];

describe('a JSON text in pieces', () => {
  it.each([
    ['a send', '{"to":"1","media":{"data":"QUJD","filename":"a"}}', ['QUJD']],
    ['spaces', ' { "media" : { "filename" : "a" , "data" : "QUJD" } , "to" : "1" } ', ['QUJD']],
    ['escaped keys', '{"m\\u0065dia":{"\\u0064ata":"QUJD"}}', ['QUJD']],
    ['escaped slashes', '{"media":{"data":"\\/\\/\\/\\/\\u002b"}}', ['////+']],
    ['an escaped quote', '{"media":{"data":"a\\"b\\\\"},"x":"\\\\"}', ['a"b\\']],
    ['an empty string', '{"media":{"data":""}}', ['']],
    ['the same key twice', '{"media":{"data":"A","data":"B"},"media":{"data":"C"}}', ['A', 'B', 'C']],
    ['strings that look like it', '{"text":"\\"media\\":{\\"data\\":\\"A\\"}","media":{"data":"B"}}', ['B']],
    ['lists before it', '{"a":[{"media":{"data":"X"}},["y"],{}],"media":{"data":"B"}}', ['B']],
    ['deeper ones', '{"media":{"x":{"data":"X"},"data":"B"},"x":{"media":{"data":"Y"}}}', ['B']],
    ['a list at the top', '[{"media":{"data":"X"}}]', []],
    ['other types', '{"media":{"data":7},"x":null}', []],
    ['a list in its place', '{"media":[{"data":"X"}]}', []],
    ['a key that is the value', '{"media":"data","data":"media"}', []],
  ])('%s: the string is removed, and the rest is unchanged', (_what, json, strings) => {
    const whole = takeApart(json, json.length);
    expect(whole.taken).toEqual(strings);
    // Each taken string stands as `@` in a rest that is still the same JSON.
    const marked = JSON.parse(whole.rest, (_key, value) => (value === '@' ? strings.at(-1) : value));
    if (strings.length === 1) expect(marked).toEqual(JSON.parse(json));
    for (const size of SIZES) expect(takeApart(json, size)).toEqual(whole);
  });

  it('of any shape and in any pieces: the rest with the strings inserted is the original text', () => {
    const noise = fc.jsonValue({ depthSize: 'small', maxDepth: 4 });
    const text = fc.string({ unit: 'grapheme', maxLength: 30 });
    const around = fc.dictionary(fc.constantFrom('to', 'media', 'data', 'x"y', 'é\\'), noise, { maxKeys: 4 });
    const bodies = fc.tuple(around, around, text).map(([outer, inner, data]) => ({
      ...outer,
      media: { ...inner, data },
      last: outer,
    }));
    fc.assert(
      fc.property(
        bodies,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 3 }),
        (body, size, indent) => {
          const { taken, rest } = takeApart(JSON.stringify(body, null, indent), size);
          expect(taken).toEqual([body.media.data]);
          const { media } = JSON.parse(rest);
          expect(media.data).toBe('@');
          expect({ ...JSON.parse(rest), media: { ...media, data: body.media.data } }).toEqual(
            JSON.parse(JSON.stringify(body)),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('invalid JSON leaves an invalid rest', () => {
    for (const broken of [
      '{"media":{"data":"QUJD',
      '{"media":{"data":"QUJD"',
      '}{',
      '"',
      '{"media":{"data":"A"}}}',
    ]) {
      expect(() => JSON.parse(takeApart(broken, 3).rest), broken).toThrow();
    }
  });
});
