import type { Environment } from '../runtime/config/read-settings.ts';
import { type CommandOptions, readGivenFile, UsageError } from './command-line.ts';

/** The options of a command that calls the API of a running connector. */
export const CONNECTOR_OPTIONS = {
  connector: {
    type: 'string',
    value: 'URL',
    description: 'address of the connector, for example https://connector.example.com',
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    description: "file with the token of the connector's API (default: CONNECTOR_API_TOKEN)",
  },
} as const;

/** The address of `--connector`, without a slash at its end. @throws UsageError */
export function readConnectorUrl(value: string | boolean | undefined): string {
  if (value === undefined)
    throw new UsageError('--connector is missing: pass the address of the connector. See --help.');
  const text = String(value);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(
      `--connector must be an address such as https://connector.example.com, not "${text}".`,
    );
  return text.replace(/\/+$/, '');
}

/** The token of `--token-file` or the environment. @throws UsageError */
export function readToken(options: CommandOptions, env: Environment): string {
  const file = options['token-file'];
  const isSetting = file === undefined;
  const source = isSetting ? 'CONNECTOR_API_TOKEN' : `--token-file ${String(file)}`;
  const text = isSetting ? (env['CONNECTOR_API_TOKEN'] ?? '') : readGivenFile(String(file), '--token-file');
  const token = text.trim();
  if (token === '')
    throw new UsageError(
      isSetting
        ? 'The token is missing: set CONNECTOR_API_TOKEN, or pass --token-file FILE.'
        : `${source} is empty.`,
    );
  // No header can contain it, and the error that fetch throws then quotes it.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError(`${source} is no token: it contains white space, or a character that is not ASCII.`);
  return token;
}
