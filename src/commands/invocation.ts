/** The sources run from the repository; the package holds what they were compiled to. */
export const RUNS_SOURCES = import.meta.filename.endsWith('.ts');

/**
 * How a person runs a command of this project: through npm's scripts in the repository, through the package's
 * program where it is installed. `words` follow the command.
 */
export function invoke(command: string, words = ''): string {
  if (!RUNS_SOURCES) return `npx --no-install messaging-connector ${command} ${words}`.trimEnd();
  const script = command === 'start' ? 'npm start' : `npm run ${command}`;
  return words === '' ? script : `${script} -- ${words}`;
}
