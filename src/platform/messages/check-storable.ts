import type { MediaObject } from '../../contract/service/messages.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** Type and subtype, and parameters such as `codecs=opus`. */
const MIMETYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w-]+=(?:[\w!#$&^.+-]+|"[\w !#$&^.,+-]*"))*$/;
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Throws `invalid_request` for NUL and lone surrogates, which cannot be stored. */
export function checkStorable(field: string, text: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return;
  throw new PlatformError(ASSUMPTIONS.refusedText.value, {
    field,
    hint: 'must be well-formed Unicode without NUL',
  });
}

/** Checks the file name, type and caption, which are stored and later sent in headers. Throws `invalid_request`. */
export function checkStorableMedia({ filename, mimetype, caption = '' }: MediaObject): void {
  checkStorable('media.filename', filename);
  if (CONTROL_CHARACTER.test(filename)) {
    throw new PlatformError('invalid_request', {
      field: 'media.filename',
      hint: 'must not have control characters',
    });
  }
  if (!MIMETYPE.test(mimetype)) {
    throw new PlatformError('invalid_request', {
      field: 'media.mimetype',
      hint: 'must be a media type, such as audio/ogg',
    });
  }
  checkStorable('media.caption', caption);
}
