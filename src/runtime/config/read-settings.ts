import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import { findNearNames } from './near-names.ts';
import type { Setting } from './setting.ts';

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
  if (setting.required)
    return setting.example === '' ? 'Correct it.' : `Correct it, for example: ${setting.example}`;
  return `Correct it, or remove it (then: ${setting.unset}).`;
}

type Reading = { readonly value: unknown } | { readonly problem: string };

function readSetting(setting: Setting<unknown>, raw: string | undefined): Reading {
  const text = setting.secret ? raw : raw?.trim();
  if (text === undefined || text === '') {
    if (!setting.required) return { value: setting.fallback };
    return { problem: `found nothing; it takes ${setting.allowed}. Set it${exampleOf(setting)}.` };
  }
  const parsed = setting.schema.safeParse(text);
  if (parsed.success) return { value: parsed.data };
  return { problem: `found ${show(setting, text)}; it takes ${setting.allowed}. ${advise(setting)}` };
}

function exampleOf(setting: Setting<unknown>): string {
  return setting.example === '' ? '' : `, for example to ${setting.example}`;
}

/**
 * Reads all settings of a definition at once. A variable that is missing or empty counts as not set.
 * `warn` is told of variables that are no setting but are nearly spelled like one.
 * @throws {ConfigurationError} naming every setting that is wrong, not only the first.
 */
export function readSettings<const Definition extends SettingsDefinition>(
  definition: Definition,
  env: Environment,
  warn?: (found: string, meant: string) => void,
): Settings<Definition> {
  const values: Record<string, unknown> = {};
  const problems: ConfigurationProblem[] = [];
  for (const [name, setting] of Object.entries(definition)) {
    const reading = readSetting(setting, env[name]);
    if ('problem' in reading) problems.push({ setting: name, problem: reading.problem });
    else values[name] = reading.value;
  }
  const near = findNearNames(Object.keys(env), Object.keys(definition));
  for (const { found, meant } of near) warn?.(found, meant);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return values as Settings<Definition>;
}
