import { describe, expect, it } from 'vitest';
import { fileNameOf, safeTypeOf } from '../../../src/connector/media/safe-type.ts';

describe('the content type with which a file is served', () => {
  it.each([
    ['image/jpeg', null, 'image/jpeg', 'jpg'],
    ['audio/ogg; codecs=opus', null, 'audio/ogg', 'ogg'],
    [' Image/PNG ', null, 'image/png', 'png'],
    [null, 'application/pdf', 'application/pdf', 'pdf'],
    ['application/octet-stream', 'image/png', 'image/png', 'png'],
    ['', 'image/png', 'image/png', 'png'],
  ])('%j, answered as %j, is %s', (told, answered, contentType, ending) => {
    expect(safeTypeOf(told, answered)).toEqual({ contentType, ending });
  });

  it.each([
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'application/javascript',
    'text/html;image/png',
    'image/png, text/html',
    'multipart/mixed',
    '__proto__',
    'constructor',
    'x',
  ])('%j is application/octet-stream', (told) => {
    expect(safeTypeOf(told, null)).toEqual({ contentType: 'application/octet-stream', ending: 'bin' });
    expect(safeTypeOf(null, told)).toEqual({ contentType: 'application/octet-stream', ending: 'bin' });
    // What the host says besides makes it no better.
    expect(safeTypeOf(told, 'image/png').contentType).toBe('application/octet-stream');
  });
});

describe('the name of a file', () => {
  it.each([
    ['cm1abc', 'message-cm1abc.png'],
    ['../../etc/passwd', 'message-etcpasswd.png'],
    ['a"b\\c;d\r\ne', 'message-abcde.png'],
    ['CON', 'message-CON.png'],
    ['é', 'message-.png'],
    ['a'.repeat(255), `message-${'a'.repeat(64)}.png`],
  ])('of the message %j is %s', (id, name) => {
    expect(fileNameOf(id, safeTypeOf('image/png'))).toBe(name);
  });
});
