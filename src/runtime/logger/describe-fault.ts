import { findPlace } from './find-place.ts';

/** The part of an error that is reported if its message may contain a customer's words: never the message. */
export interface FaultDescription {
  readonly errorType: string;
  readonly errorCode?: string | number;
  /** File and line of the code that threw it. */
  readonly location?: string;
}

const CLASS_NAME = /^[A-Z][A-Za-z]{0,31}\d{0,3}[A-Za-z]{0,31}$/;
/** Error codes of programs: `ECONNREFUSED`, `23505`, `invalid_key`, `auth/denied`. */
const CODE = /^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[0-9A-Z]{5}|[a-z][a-z0-9]*(?:[_./-][a-z0-9]+)+)$/;
const LONGEST_CODE = 64;
const LARGEST_CODE = 999_999;

/**
 * Describes an error of code that is not ours: its class, its code and its place. A name or a code that does
 * not look like one is omitted, because the throwing code may put anything there. Never throws.
 */
export function describeFault(thrown: unknown): FaultDescription {
  const location = findPlace(thrown);
  const errorCode = readCode(thrown);
  return {
    errorType: readType(thrown),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(location === null ? {} : { location }),
  };
}

/** The class of an error. Its `name` is used only if it looks like that of an error: anybody can set it. */
function readType(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return typeof thrown;
  const name = readSafely(() => Reflect.get(thrown, 'name'));
  if (isClassName(name) && /.(?:Error|Exception)$/.test(name)) return name;
  const made = readSafely(() => Reflect.getPrototypeOf(thrown)?.constructor.name);
  return isClassName(made) ? made : 'Error';
}

function isClassName(name: unknown): name is string {
  return typeof name === 'string' && CLASS_NAME.test(name);
}

function readCode(thrown: unknown): string | number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const code = readSafely(() => Reflect.get(thrown, 'code'));
  if (typeof code === 'number') return Math.abs(code) <= LARGEST_CODE ? code : undefined;
  if (typeof code !== 'string' || code.length > LONGEST_CODE || !CODE.test(code)) return undefined;
  return /\d{7}/.test(code) ? undefined : code;
}

/** What `read` returns; undefined if it throws: an error may be a trap. */
export function readSafely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
