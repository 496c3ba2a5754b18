import type { z } from 'zod';
import { inputWords } from '../../contract/schema/input-words.ts';
import { ApiError, invalid } from './api-error.ts';

/** Rejects `.` and `..`, which are path segments with a meaning. */
const ID = /^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/;

/** The id in a path. A value that cannot be an id of anything is reported as not found. */
export function readId(value: unknown): string {
  if (typeof value === 'string' && ID.test(value)) return value;
  throw new ApiError('not_found', 'No object has this id.');
}

/** Validates the input with its schema. Throws an `ApiError` that names the first invalid field. */
export function readInput(schema: z.ZodType, input: unknown, place: 'query' | 'body'): unknown {
  const read = schema.safeParse(input, { error: inputWords });
  if (!read.success) throw invalid(...describeIssue(read.error, place));
  const odd = findUnstorable(read.data, []);
  if (odd !== null) throw invalid(odd || place, 'must be well-formed text without NUL');
  return read.data;
}

function describeIssue(error: z.ZodError, place: string): [field: string, problem: string] {
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys')
    return [issue.keys[0] ?? place, `is not a known field of this ${place}`];
  const field = issue?.path.join('.') || place;
  return [field, lowerFirst(issue?.message ?? 'is invalid')];
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');
}

/** The path of the first text that the database cannot store; null if there is none. */
function findUnstorable(value: unknown, path: readonly string[]): string | null {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0') ? null : path.join('.');
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnstorable(inner, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}
