import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/**
 * The path of `script` as this process was started with it, at its original location: a path through a
 * symlink resolves to the link's current target, so that new processes run a release that was installed in
 * the meantime.
 */
export function presentScript(script: string, started: string | undefined = process.argv[1]): string {
  if (started === undefined || !isAbsolute(started)) return script;
  return realpathSync(started) === realpathSync(script) ? started : script;
}
