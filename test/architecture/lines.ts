import { Console } from 'node:console';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root.ts';
import { listFiles, TESTS } from './source-files.ts';

/** Lines of code that a part of the project may have. A number is only ever lowered. */
const LIMITS: readonly (readonly [
  part: string,
  limit: number,
  folders?: readonly string[],
  endings?: RegExp,
])[] = [
  ['src/connector', 28334],
  ['src/runtime', 8442],
  ['src/platform', 13325],
  ['src/sandbox', 4875],
  ['src/contract', 7984],
  ['src/commands, cli', 5826, ['src/commands', 'src/cli']],
  ['src/scenario, testing, client', 2259, ['src/scenario', 'src/testing', 'src/client']],
  ['packages/console, src/console-host', 15597, ['packages/console/src', 'src/console-host']],
  ['packages/certify, conformance', 10584, ['packages/certify/src', 'packages/conformance/src']],
  ['packages/n8n', 353, ['packages/n8n/src']],
  ['src/patterns', 1143],
  ['test, of packages too', 96983, TESTS],
  ['bench', 2599],
  ['drizzle', 6380, ['drizzle'], /\.(?:ts|sql|json)$/],
];

/** A part may be this many lines below its limit. With more room, the limit is to be lowered. */
export const ROOM = 300;

/** The lines of each part, beside its limit. */
export function countLines(): { readonly part: string; readonly lines: number; readonly limit: number }[] {
  return LIMITS.map(([part, limit, folders = [part], endings = /\.(?:tsx?|css)$/]) => ({
    part,
    lines: folders
      .flatMap((folder) => listFiles(folder, endings))
      .reduce((sum, path) => sum + readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1, 0),
    limit,
  }));
}

if (import.meta.main) new Console(process.stdout).table(countLines());
