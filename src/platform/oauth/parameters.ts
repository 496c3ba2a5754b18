/**
 * The parameters of a request. One without a value counts as left out, and none may be given twice (RFC 6749,
 * 3.1 and 3.2), so that no two readers can take different values from one request.
 */
export interface Parameters {
  /** The value; null when it is left out or given twice. */
  get(name: string): string | null;
  /** Whether it is there at all, with a value or without. */
  has(name: string): boolean;
  /** The first name that is given more than once; null when all are single. */
  readonly repeated: string | null;
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
    has: (name) => given.has(name),
    repeated: names.find((name, place) => names.indexOf(name) !== place) ?? null,
  };
}
