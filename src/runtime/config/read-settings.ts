import { readFileSync } from 'node:fs';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import type { Setting } from './setting.ts';
import { findSimilarNames } from './similar-names.ts';

/** The settings of a command, by the names of their environment variables. */
export type SettingsDefinition = Readonly<Record<string, Setting<unknown>>>;

/** The values read by a definition. */
export type Settings<Definition extends SettingsDefinition> = {
  readonly [Name in keyof Definition]: Definition[Name] extends Setting<infer Value> ? Value : never;
};

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

function show(setting: Setting<unknown>, text: string): string {
  if (setting.secret || /:\/\/[^/]*@/.test(text)) return `a value of ${text.length} characters (not shown)`;
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;
}

function advise(setting: Setting<unknown>): string {
  const made = setting.make === '' ? '' : ` ${setting.make}`;
  if (setting.required)
    return setting.example === ''
      ? `Correct it.${made}`
      : `Correct it, for example: ${setting.example}${made}`;
  return `Correct it, or remove it (if unset: ${setting.unset}).${made}`;
}

type Reading = { readonly value: unknown } | { readonly problem: string };

function readSetting(setting: Setting<unknown>, raw: string | undefined): Reading {
  const text = setting.secret ? raw : raw?.trim();
  if (text === undefined || text === '') {
    if (!setting.required) return { value: setting.fallback };
    return { problem: `is not set; it must be ${setting.allowed}. Set it${exampleOf(setting)}.` };
  }
  const parsed = setting.schema.safeParse(text);
  if (parsed.success) return { value: parsed.data };
  const found = setting.explain(text) ?? show(setting, text);
  return { problem: `found ${found}; it must be ${setting.allowed}. ${advise(setting)}` };
}

/** The name of the variable that contains the path of a file with the value of a secret. */
function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/** Reads a setting of any kind; a secret can also be read from the file that its other variable names. */
function readVariables(
  name: string,
  setting: Setting<unknown>,
  env: Environment,
): { readonly value: unknown } | ConfigurationProblem {
  const inFile = fileVariable(name);
  const path = setting.secret ? env[inFile]?.trim() : undefined;
  if (!path) {
    const reading = readSetting(setting, env[name]);
    return 'problem' in reading ? { setting: name, ...reading } : reading;
  }
  if (env[name]) return { setting: name, problem: `is set, and so is ${inFile}; remove one of the two.` };
  const text = readSecretFile(path);
  if (typeof text !== 'string') return { setting: inFile, ...text };
  const reading = readSetting(setting, text);
  return 'problem' in reading
    ? { setting: inFile, problem: `${reading.problem} It was read from ${path}.` }
    : reading;
}

/** The text of a file without the line breaks that editors and `echo` append. */
function readSecretFile(path: string): string | { readonly problem: string } {
  try {
    const text = readFileSync(path, 'utf8').trimEnd();
    return text === '' ? { problem: `refers to ${path}, which is empty.` } : text;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `refers to ${path}, which cannot be read (${code}). Correct it, or make it readable.` };
  }
}

/** Every variable that a definition reads. */
export function variablesOf(definition: SettingsDefinition): string[] {
  return Object.entries(definition).flatMap(([name, { secret }]) =>
    secret ? [name, fileVariable(name)] : [name],
  );
}

function exampleOf(setting: Setting<unknown>): string {
  return setting.example === '' ? '' : `, for example to ${setting.example}`;
}

/**
 * Reads all settings of a definition at once. A variable that is missing or empty counts as unset. The value
 * of a secret can be in a file that `NAME_FILE` names. `warn` is called for variables that are not settings
 * but are spelled similarly.
 * @throws {ConfigurationError} naming every setting that is invalid, not only the first.
 */
export function readSettings<const Definition extends SettingsDefinition>(
  definition: Definition,
  env: Environment,
  warn?: (found: string, meant: string) => void,
): Settings<Definition> {
  const values: Record<string, unknown> = {};
  const problems: ConfigurationProblem[] = [];
  for (const [name, setting] of Object.entries(definition)) {
    const reading = readVariables(name, setting, env);
    if ('problem' in reading) problems.push(reading);
    else values[name] = reading.value;
  }
  const near = findSimilarNames(Object.keys(env), variablesOf(definition));
  for (const { found, meant } of near) warn?.(found, meant);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return values as Settings<Definition>;
}
