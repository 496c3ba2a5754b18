import type { z } from 'zod';
import { inputWords } from '../../contract/input-words.ts';
import { ApiError, invalid } from './api-error.ts';

/** Not `.` and `..`, which are steps of a path. */
const ID = /^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/;

/** The id in a path. One that cannot be an id of anything is not found. */
export function readId(value: unknown): string {
  if (typeof value === 'string' && ID.test(value)) return value;
  throw new ApiError('not_found', 'Nothing with this id.');
}

/** The input as its schema reads it. Throws an `ApiError` that names the first wrong field. */
export function readInput(schema: z.ZodType, input: unknown, place: 'query' | 'body'): unknown {
  const read = schema.safeParse(input, { error: inputWords });
  if (!read.success) throw invalid(...describeIssue(read.error, place));
  const odd = findUnstorable(read.data, []);
  if (odd !== null) throw invalid(odd || place, 'must be well-formed text without NUL');
  return read.data;
}

function describeIssue(error: z.ZodError, place: string): [field: string, problem: string] {
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys') return [issue.keys[0] ?? place, `is not known in this ${place}`];
  const field = issue?.path.join('.') || place;
  return [field, lowerFirst(issue?.message ?? 'does not fit')];
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');
}

/** The path of the first text that the database cannot hold; null when there is none. */
function findUnstorable(value: unknown, path: readonly string[]): string | null {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0') ? null : path.join('.');
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnstorable(inner, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}
