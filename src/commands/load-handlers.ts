import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { checkHandlers } from '../connector/consumers/check-handlers.ts';
import type { ChangeHandlers } from '../connector/consumers/sinks/handler.ts';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { type Environment, variablesOf } from '../runtime/config/read-settings.ts';
import { findPlace } from '../runtime/logger/find-place.ts';
import { allSettings } from './settings.ts';

const LONGEST_MESSAGE = 500;

/**
 * Loads the module that `CONNECTOR_HANDLERS` names, an absolute path; undefined if it is not set. The
 * handlers are its default export if that is an object, otherwise its named exports. Variables in `env` that
 * are not our settings, such as the module's own lines of `.env`, are first copied to `process.env` unless
 * the process has them already.
 * @throws ConfigurationError if there is no such module, if it throws, or if it has no `onChange`.
 */
export async function loadHandlers(
  path: string | undefined,
  env: Environment,
): Promise<ChangeHandlers | undefined> {
  if (path === undefined) return undefined;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw wrong(`no module at ${path}`);
  shareVariables(env);
  const exported = await importModule(path);
  const { default: whole } = exported;
  const checked = checkHandlers(typeof whole === 'object' && whole !== null ? whole : exported);
  if ('problem' in checked) throw wrong(`${path} ${checked.problem}`);
  return checked.handlers;
}

/** Our own settings are not copied: neither the module nor its child processes need our secrets. */
function shareVariables(env: Environment): void {
  const ours = new Set(variablesOf(allSettings(env)));
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !ours.has(name)) process.env[name] ??= value;
  }
}

async function importModule(path: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw wrong(`${path} could not be loaded: ${describe(error)}`);
  }
}

/** For the terminal of the author of the module: the full error with its line. */
function describe(thrown: unknown): string {
  const place = findPlace(thrown) ?? (thrown instanceof SyntaxError ? 'run node --check to see where' : null);
  return `${String(thrown).slice(0, LONGEST_MESSAGE)}${place === null ? '' : ` (${place})`}`;
}

function wrong(problem: string): ConfigurationError {
  return new ConfigurationError([{ setting: 'CONNECTOR_HANDLERS', problem }]);
}
