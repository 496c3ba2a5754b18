import { OauthError } from './oauth-error.ts';

/**
 * The parameters of a request. One without a value counts as left out, and none may be given twice (RFC 6749,
 * 3.1 and 3.2), so that no two readers can take different values from one request.
 */
export interface Parameters {
  /** The value; null when it is left out or given twice. */
  get(name: string): string | null;
  /** All values of a parameter that may be given more than once. */
  all(name: string): readonly string[];
  /** Whether it is there at all, with a value or without. */
  has(name: string): boolean;
  /** All names, those without a value included. */
  readonly names: readonly string[];
  /** Names that are given more than once. */
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

/** The value of a parameter. Throws `invalid_request` when it is left out or given twice. */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === null) throw new OauthError('invalid_request', `${name} is missing`);
  return value;
}
