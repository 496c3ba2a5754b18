import { spawnCommand } from './spawn-command.ts';

/**
 * Prints what was loaded once the program has nothing left to do. Not at 'exit': what is written there may be cut off.
 * Plain JavaScript, because it is passed to Node as text.
 */
const RECORD = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
process.once('beforeExit', () => process.stdout.write(JSON.stringify(loaded)));
`;

/** The URLs of all modules that a process has loaded when an import of `specifier` in `cwd` is done. */
export async function loadedBy(specifier: string, cwd: string): Promise<readonly string[]> {
  const words = ['--import', `data:text/javascript,${encodeURIComponent(RECORD)}`, '--input-type=module'];
  const program = `await import(${JSON.stringify(specifier)});`;
  const { code, stdout, stderr } = await spawnCommand('node', [...words, '-e', program], { cwd }).ended;
  if (code !== 0) throw new Error(`the import failed: ${stderr}`);
  return JSON.parse(stdout);
}
