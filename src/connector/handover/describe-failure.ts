import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError } from '../../runtime/logger/describe-error.ts';
import { toStorableText } from '../db/storable-text.ts';

/** A frame of a stack, `at onChange (file:///app/handlers.ts:12:9)`, or the place above a syntax error, `/app/handlers.ts:12`. */
const PLACE = /^(?:\s+at (?:async )?(?:[^(]* \()?)?(file:\/\/[^\s()]+?|\/[^()]+?):(\d+)(?::\d+)?\)?$/;
const LONGEST_STACK = 8_000;
/** Where the connector's own code lies. */
const OWN = join(import.meta.dirname, '../..') + sep;

/**
 * What a dead letter says of what the handler threw: type, code, message, and the line of the CRM's own code.
 * Secrets and quoted texts are left out, as in the log. Never throws.
 */
export function describeFailure(thrown: unknown): string {
  const { type, code, message } = describeError(thrown);
  const place = findPlace(thrown);
  const head = code === undefined ? type : `${type} ${code}`;
  return toStorableText(`${head}: ${message || 'no message'}${place === null ? '' : ` (${place})`}`);
}

/** The file and line of the CRM's own code in which it was thrown, relative to the working directory. */
export function findPlace(thrown: unknown): string | null {
  try {
    const stack = thrown instanceof Error ? String(thrown.stack).slice(0, LONGEST_STACK) : '';
    for (const line of stack.split('\n')) {
      const [, file = '', row] = PLACE.exec(line) ?? [];
      if (file === '') continue;
      const path = file.startsWith('file:') ? fileURLToPath(file.replace(/\?.*$/, '')) : file;
      if (path.startsWith(OWN) || path.includes(`${sep}node_modules${sep}`)) continue;
      return `${relative(process.cwd(), path)}:${row}`;
    }
  } catch {
    // An error can lie about itself; what it says then is not needed.
  }
  return null;
}
