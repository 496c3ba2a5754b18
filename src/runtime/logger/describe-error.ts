import { readSafely } from './describe-fault.ts';
import { scrubText } from './scrub-text.ts';

/** The part of an error that is logged. Never its stack, its properties or the data that it contains. */
export interface ErrorDescription {
  readonly type: string;
  readonly code?: string | number;
  readonly message: string;
  readonly cause?: ErrorDescription;
}

const CODE = /^[A-Za-z0-9_.-]{1,64}$/;
const TYPE = /^[A-Za-z_$][\w$]{0,63}$/;
const DEEPEST_CAUSE = 3;

function describeCode(error: object): string | number | undefined {
  const code = readSafely(() => Reflect.get(error, 'code'));
  if (typeof code === 'number') return code;
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

function describeType(error: object): string {
  const name = readSafely(() => Reflect.get(error, 'name'));
  return typeof name === 'string' && TYPE.test(name) ? name : 'Error';
}

function describeMessage(error: object, type: string, code: string | number | undefined): string {
  const message = readSafely(() => Reflect.get(error, 'message'));
  if (typeof message !== 'string') return '';
  // A parser repeats its input, and the query builder the query with its parameters.
  if (type === 'SyntaxError') return 'the text could not be parsed';
  if (message.startsWith('Failed query')) return 'the query failed';
  // SQLSTATE classes 22 and 23 quote the value that did not fit.
  const text = /^2[23]\w{3}$/.test(String(code)) ? message.replace(/"[^"]*"/g, '"…"') : message;
  return scrubText(text);
}

/** Describes anything that was thrown, with up to three causes. Never throws. */
export function describeError(thrown: unknown, depth = 0): ErrorDescription {
  if (typeof thrown !== 'object' || thrown === null) {
    return { type: typeof thrown, message: typeof thrown === 'string' ? scrubText(thrown) : 'not an error' };
  }
  const type = describeType(thrown);
  const code = describeCode(thrown);
  const errors = readSafely(() => Reflect.get(thrown, 'errors'));
  const cause =
    readSafely(() => Reflect.get(thrown, 'cause')) ?? (Array.isArray(errors) ? errors[0] : undefined);
  return {
    type,
    ...(code === undefined ? {} : { code }),
    message: describeMessage(thrown, type, code),
    ...(cause instanceof Error && depth < DEEPEST_CAUSE ? { cause: describeError(cause, depth + 1) } : {}),
  };
}
