import { type Filter, type FilterKeys, parseFilter } from '../../contract/sandbox/filter.ts';
import { SandboxError } from './sandbox-error.ts';

/** Reads `q` of a list with these keys. Throws `invalid_request` with `field` and the first token that is invalid. */
export function readFilter<Keys extends FilterKeys>(
  keys: Keys,
  q: string | undefined,
  field = 'q',
): Filter<keyof Keys & string> {
  const filter = parseFilter(keys, q ?? '');
  if (typeof filter === 'string') throw new SandboxError('invalid_request', `'${field}': ${filter}.`, field);
  return filter;
}
