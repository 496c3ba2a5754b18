import { statSync } from 'node:fs';
import type { DoctorSettings } from '../connector/doctor/check-input.ts';
import { ok, problem, type Report, warning } from '../connector/doctor/finding.ts';
import { ConfigurationError, type ConfigurationProblem } from '../runtime/config/configuration-error.ts';
import { type Environment, readSettings } from '../runtime/config/read-settings.ts';
import { refuseOldNode } from '../runtime/node-version/node-version.mjs';
import { connectorOptions } from './connector-options.ts';
import { connectorSettings } from './settings.ts';

/** The settings that can be read, and reports about the others. */
export interface CheckedSettings {
  readonly settings: DoctorSettings;
  readonly reports: readonly Report[];
}

const SETTINGS = { check: 'settings', title: 'settings' } as const;

export interface SettingsOrigin {
  /** They are those of an `npm start`, whose embedded Postgres is intended. */
  readonly isLoop?: boolean;
  /** What a reader should know about where they are from. */
  readonly note?: string | undefined;
}

/** Reads the settings as the connector does. An invalid setting counts as unset, so that the rest can be checked. */
export function checkSettings(env: Environment, origin: SettingsOrigin = {}): CheckedSettings {
  const typos: string[] = [];
  const problems = findProblems(env, (found, meant) =>
    typos.push(`${found} is not a setting. Did you mean ${meant}?`),
  );
  const readable = without(env, problems);
  const settings = readSettings(connectorSettings(readable), readable);
  const { SERVICE_BASE_URL: baseUrl, SERVICE_API_KEY: apiKey, CONNECTOR_HANDLERS: handlers } = settings;
  const isLoaded = handlers !== undefined && settings.CONNECTOR_ROLE !== 'web';
  if (isLoaded && statSync(handlers, { throwIfNoEntry: false })?.isFile() !== true) {
    problems.push({ setting: 'CONNECTOR_HANDLERS', problem: `found no file at ${handlers}. Correct it.` });
  }
  return {
    settings: {
      databaseUrl: settings.DATABASE_URL?.reveal(),
      redisUrl: settings.REDIS_URL?.reveal(),
      host: settings.CONNECTOR_HOST,
      port: settings.CONNECTOR_PORT,
      apiToken: settings.CONNECTOR_API_TOKEN?.reveal(),
      sealingKeys: (settings.CONNECTOR_SEALING_KEYS ?? []).map((key) => key.reveal()),
      service:
        baseUrl === undefined || apiKey === undefined ? undefined : { baseUrl, apiKey: apiKey.reveal() },
      webhookPublicUrl: settings.WEBHOOK_PUBLIC_URL,
      namesWebhookSecret: settings.WEBHOOK_SECRET !== undefined,
      namesAppWebhookSecret: settings.SERVICE_CLIENT_WEBHOOK_SECRET !== undefined,
      handlersModule: handlers,
      reconcileIntervalMs: settings.RECONCILE_INTERVAL_MS,
      inboxRetentionDays: Math.min(
        settings.INBOX_RETENTION_DAYS,
        settings.MESSAGE_RETENTION_DAYS ?? Number.POSITIVE_INFINITY,
      ),
    },
    reports: [checkNode(), report(problems, settings.DATABASE_URL === undefined, typos, origin)],
  };
}

/** Every problem: those that the connector reports first, and those that it would report after their correction. */
function findProblems(
  env: Environment,
  warn: (found: string, meant: string) => void,
): ConfigurationProblem[] {
  const found: ConfigurationProblem[] = [];
  let readable = env;
  for (let report = warn; ; report = () => undefined) {
    try {
      connectorOptions(readable, report);
      return found;
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const fresh = error.problems.filter((each) => !found.some((known) => nameOf(known) === nameOf(each)));
      if (fresh.length === 0) return found;
      found.push(...fresh);
      readable = without(readable, fresh);
    }
  }
}

/** The name of a setting, also if a file has its value. */
const nameOf = ({ setting }: Pick<ConfigurationProblem, 'setting'>): string => setting.replace(/_FILE$/, '');

/** The environment without the settings that have a problem. */
function without(env: Environment, problems: readonly ConfigurationProblem[]): Environment {
  const wrong = new Set(problems.map(nameOf));
  return Object.fromEntries(Object.entries(env).filter(([setting]) => !wrong.has(nameOf({ setting }))));
}

const NO_DATABASE =
  'DATABASE_URL is not set: the data is in a Postgres on this machine only, without a backup.';

function report(
  problems: readonly ConfigurationProblem[],
  isEmbedded: boolean,
  typos: readonly string[],
  { isLoop = false, note }: SettingsOrigin,
): Report {
  const notes = note === undefined ? [] : [note];
  if (problems.length > 0) {
    return {
      ...SETTINGS,
      ...problem(
        problems.length === 1
          ? 'A setting is invalid, so no process can start.'
          : `${problems.length} settings are invalid, so no process can start.`,
        {
          evidence: [...problems.map((each) => `${each.setting}: ${each.problem}`), ...typos],
          advice: [
            'Correct them in .env in the working directory, or in the environment. .env.example lists all settings.',
            ...notes,
          ],
        },
      ),
    };
  }
  if (typos.length > 0) {
    const evidence = [...typos, ...notes];
    return { ...SETTINGS, ...warning('A variable looks like a mistyped setting.', { evidence }) };
  }
  if (isEmbedded && !isLoop) {
    const advice = ['In production, set DATABASE_URL to a Postgres of your own.'];
    return { ...SETTINGS, ...warning(NO_DATABASE, { evidence: notes, advice }) };
  }
  return { ...SETTINGS, ...ok('The settings are valid.', { evidence: notes }) };
}

function checkNode(): Report {
  const about = { check: 'node', title: 'Node version' } as const;
  const version = process.versions.node;
  const refusal = refuseOldNode(version);
  if (refusal === undefined) return { ...about, ...ok(`Node ${version} is new enough.`) };
  return { ...about, ...problem(`Node ${version} is too old.`, { advice: [refusal] }) };
}
