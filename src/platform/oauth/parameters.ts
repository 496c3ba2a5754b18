import { OauthError } from './oauth-error.ts';

/**
 * The parameters of a request. A parameter without a value counts as omitted, and none may be repeated (RFC 6749, 3.1
 * and 3.2), so that all readers of a request see the same values.
 */
export interface Parameters {
  /** The value; null if it is omitted or repeated. */
  get(name: string): string | null;
  /** All values of a parameter that may be repeated. */
  all(name: string): readonly string[];
  /** Whether the parameter is present, with or without a value. */
  has(name: string): boolean;
  /** All names, including those without a value. */
  readonly names: readonly string[];
  /** Names of repeated parameters. */
  readonly repeated: readonly string[];
}

/** Reads parameters in the form of `application/x-www-form-urlencoded`. */
export function readParameters(text: string): Parameters {
  const given = new URLSearchParams(text);
  const names = [...given.keys()];
  return {
    get(name) {
      const [value, second] = given.getAll(name);
      return value === undefined || value === '' || second !== undefined ? null : value;
    },
    all: (name) => given.getAll(name),
    has: (name) => given.has(name),
    names,
    repeated: [...new Set(names.filter((name, place) => names.indexOf(name) !== place))],
  };
}

/** The value of a parameter. Throws `invalid_request` if it is omitted or repeated. */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === null) throw new OauthError('invalid_request', `${name} is missing`);
  return value;
}
