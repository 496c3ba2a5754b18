/** In the repository the sources run; in the package, the code compiled from them. */
export const RUNS_SOURCES = import.meta.filename.endsWith('.ts');

/**
 * The command line for a command of this project: an npm script in the repository, the program where the
 * package is installed. `words` follow the command.
 */
export function invoke(command: string, words = '', program = `messaging-connector ${command}`): string {
  if (!RUNS_SOURCES) return `npx --no-install ${program} ${words}`.trimEnd();
  const script = command === 'start' ? 'npm start' : `npm run ${command}`;
  return words === '' ? script : `${script} -- ${words}`;
}
