import { describe, expect, it } from 'vitest';
import { foreignCharset } from '../../../src/runtime/http-server/charset.ts';

describe('the charset of a content type', () => {
  it.each([
    undefined,
    'application/json',
    'application/json;charset=utf-8',
    'application/json;charset=utf8',
    'application/json; CHARSET=UTF8',
    'application/json; charset="utf-8"',
    "application/json; charset='UTF-8'",
    'application/json; charset = utf-8 ; version=1',
    'application/json; charset=',
    'application/json; note="charset"',
  ])('is UTF-8 in %s', (type) => {
    expect(foreignCharset(type)).toBeNull();
  });

  it.each([
    ['application/json; charset=iso-8859-1', 'iso-8859-1'],
    ['application/json;charset="UTF-16"', 'UTF-16'],
    ['application/json; charset=utf-8; charset=utf-7', 'utf-7'],
    ['application/json; charset=utf-9', 'utf-9'],
    [`application/json; charset=${'x'.repeat(500)}`, 'x'.repeat(40)],
  ])('is another one in %s', (type, charset) => {
    expect(foreignCharset(type)).toBe(charset);
  });
});
