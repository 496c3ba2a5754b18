import { statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A frame of a stack, `at onChange (file:///app/handlers.ts:12:9)`, or the place above a syntax error,
 * `/app/handlers.ts:12`.
 */
const PLACE = /^(?:\s+at (?:async )?(?:[^(]* \()?)?(file:\/\/[^\s()]+?|\/[^()]+?):(\d{1,6})(?::\d+)?\)?$/;
const LONGEST_STACK = 8_000;
/** The location of the project's own code. */
const OWN = join(import.meta.dirname, '../..') + sep;

/**
 * The file and line of the CRM's own code in which an error was thrown, relative to the working directory.
 * Null if the stack shows none. Never throws.
 */
export function findPlace(thrown: unknown): string | null {
  try {
    const stack = thrown instanceof Error ? String(thrown.stack).slice(0, LONGEST_STACK) : '';
    for (const line of stack.split('\n')) {
      const [, file = '', row] = PLACE.exec(line) ?? [];
      if (file === '') continue;
      const path = file.startsWith('file:') ? fileURLToPath(file.replace(/\?.*$/, '')) : file;
      // A message is part of the stack, and may look like a frame.
      if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
      if (path.startsWith(OWN) || path.includes(`${sep}node_modules${sep}`)) continue;
      return `${relative(process.cwd(), path)}:${row}`;
    }
  } catch {
    // An error can contain wrong information about itself, which is not needed.
  }
  return null;
}
