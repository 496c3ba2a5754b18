import type { CommandOptions } from '../../../src/commands/command-line.ts';
import { PROFILES } from './receiver/profile.ts';
import { REPORT_OPTIONS, textOf } from './suite/suite-output.ts';

/** The command line of `certify`. */
export const COMMAND = {
  name: 'certify',
  program: 'messaging-certify',
  words: '[url]',
  summary: 'checks a webhook receiver in any language: what it answers, and what it makes of deliveries.',
  options: {
    secret: {
      type: 'string',
      value: 'SECRET',
      description: 'signing secret of the receiver (default: CERTIFY_SECRET)',
    },
    level: {
      type: 'string',
      value: 'LIST',
      description:
        'W: what it answers; E: what it makes of it, with an observer (default: W, and E if observed)',
    },
    profile: {
      type: 'string',
      value: 'NAME',
      description: `what is delivered: ${Object.keys(PROFILES).join(', the events of the service, or ')}, the requests of the connector to an HTTP consumer (default: messaging)`,
    },
    'old-secret': { type: 'string', value: 'SECRET', description: 'secret before the last rotation' },
    connection: {
      type: 'string',
      value: 'ID',
      description: 'a connection that the receiver knows (default: one that does not exist)',
    },
    observe: {
      type: 'string',
      value: 'URL',
      description:
        'returns which messages the receiver has: [{ "id": "…", "status": "…", "text": "…", "media_url": …, "media_type": … }]',
    },
    'observe-command': { type: 'string', value: 'COMMAND', description: 'prints the same' },
    'observe-sql': {
      type: 'string',
      value: 'QUERY',
      description: 'selects the same columns from the Postgres of --database-url',
    },
    'database-url': { type: 'string', value: 'URL', description: 'Postgres of --observe-sql' },
    patience: {
      type: 'string',
      value: 'SECONDS',
      description: 'how long a message may take from the answer to what is observed (default: 10)',
    },
    'restart-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'kills the receiver (kill -9) and starts it again; ends when it listens',
    },
    batch: {
      type: 'string',
      value: 'N',
      description: 'standard-webhooks: the batch of the consumer, which then receives lists',
    },
    'storage-command': {
      type: 'string',
      value: 'COMMAND',
      description:
        'standard-webhooks: stops and starts the database of the consumer; {action} is replaced by stop or start',
    },
    sandbox: {
      type: 'string',
      value: 'URL',
      description: 'level I: judges the integration that talks to this sandbox, instead of a receiver',
    },
    workspace: { type: 'string', value: 'ID', description: 'level I: workspace of the integration' },
    'send-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'level I: has the integration send; {to} and {text} are replaced',
    },
    'pair-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'level I: has the integration pair a number',
    },
    oauth: { type: 'boolean', description: 'level I: the integration uses OAuth' },
    patient: { type: 'boolean', description: 'level I: also checks that take minutes' },
    only: {
      type: 'string',
      value: 'LIST',
      description: 'only checks whose ids start with one of these, separated by commas',
    },
    list: { type: 'boolean', description: 'print the checks with their rules and exit' },
    baseline: {
      type: 'string',
      value: 'FILE',
      description:
        'checks that may fail, one id per line; one that no longer fails is a failure. Written if it does not exist',
    },
    watch: { type: 'boolean', description: 'run what failed again when Enter is pressed; q ends' },
    'watch-path': {
      type: 'string',
      value: 'PATH',
      description: 'with --watch: also when a file in it changes',
    },
    ...REPORT_OPTIONS,
  },
} as const;

/** An option that takes a text; undefined if it is missing or empty. */
export const text = (options: CommandOptions, name: keyof typeof COMMAND.options): string | undefined =>
  textOf(options, name);
