import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/**
 * The path of `script` as this process was started with it, where it was: one that goes by a link leads to what the
 * link points to now, so that new processes run a release that was put in place meanwhile.
 */
export function presentScript(script: string, started: string | undefined = process.argv[1]): string {
  if (started === undefined || !isAbsolute(started)) return script;
  return realpathSync(started) === realpathSync(script) ? started : script;
}
