import { z } from 'zod';
import { CAUSE_SURFACES } from '../contract/sandbox/recording.ts';
import { EVENT_TYPES } from '../contract/service/events.ts';
import { dateTime } from '../contract/service/fields.ts';
import {
  CONNECTION_STATUSES,
  direction,
  LICENSE_STATUSES,
  messageStatus,
} from '../contract/service/statuses.ts';

const nth = z.int().min(1);
const reference = z.string().regex(/^\$[a-z]+\d+$/i);

/**
 * How a replay finds the value that a name stands for: in the response of an earlier cause, at a path of keys, or among
 * what exists. Of several, `nth` counts from the oldest.
 */
export const definition = z.union([
  z.strictObject({ cause: z.int().min(1), at: z.array(z.union([z.string(), z.int()])) }),
  z.strictObject({ workspace: z.literal('seeded') }),
  z.strictObject({ apiKeyOf: z.literal('seeded'), nth }),
  z.strictObject({ phoneNumber: z.string(), nth }),
  z.strictObject({ message: direction, connection: reference, peer: z.string(), nth }),
  z.strictObject({
    delivery: z.enum(EVENT_TYPES),
    connection: reference,
    message: reference.nullable(),
    status: messageStatus.nullable(),
    nth,
  }),
]);
export type Definition = z.infer<typeof definition>;

/** The first line of a scenario. */
const head = z.strictObject({
  scenario: z.literal(1),
  /** Virtual time at the beginning and at the end. */
  startedAt: dateTime,
  endedAt: dateTime,
  frozen: z.boolean(),
  sendScale: z.number().min(0),
  /** Whether a connector was attached. */
  connector: z.boolean(),
  /** False if earlier causes are missing. */
  complete: z.boolean(),
  names: z.record(reference, definition),
});

/** A cause. Ids, codes and times in `path` and `body` are names, `$start` with an offset in milliseconds for times. */
export const cause = z.strictObject({
  cause: z.int().min(1),
  /** Milliseconds of virtual time since the beginning. */
  at: z.int().min(0),
  surface: z.enum(CAUSE_SURFACES),
  method: z.string().regex(/^[A-Z]+$/),
  path: z.string().startsWith('/'),
  workspace: z.string().optional(),
  body: z.unknown().optional(),
});
export type Cause = z.infer<typeof cause>;

/** What the service has of a message in the end, and what became of its events, in the order of the alphabet. */
export const observedMessage = z.strictObject({
  observed: z.literal('message'),
  connection: z.string(),
  direction,
  peer: z.string(),
  nth,
  text: z.string().nullable(),
  status: messageStatus,
  deliveries: z.array(z.string()),
});
export type ObservedMessage = z.infer<typeof observedMessage>;

/** What the service has of a connection in the end. Connections without causes and messages are not observed. */
export const observedConnection = z.strictObject({
  observed: z.literal('connection'),
  connection: z.string(),
  status: z.enum(CONNECTION_STATUSES),
  licenseStatus: z.enum(LICENSE_STATUSES),
  needsReconnect: z.boolean(),
});
export const observation = z.discriminatedUnion('observed', [observedMessage, observedConnection]);
export type Observation = z.infer<typeof observation>;

/** A recorded run: what came from outside, and what the service had in the end. */
export interface Scenario extends z.infer<typeof head> {
  readonly causes: readonly Cause[];
  readonly observations: readonly Observation[];
}

/** A file that is not a scenario; the message names the line. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

/** Writes a scenario as JSON lines: the head, the causes, the observations. */
export function writeScenario({ causes, observations, ...rest }: Scenario): string {
  return [rest, ...causes, ...observations].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** @throws ScenarioError for a line that is not of this form */
export function readScenario(text: string): Scenario {
  const [first, ...rest] = text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '');
  if (first === undefined) throw new ScenarioError('The file is empty.');
  const causes: Cause[] = [];
  const observations: Observation[] = [];
  const start = readLine(first, head);
  for (const line of rest) {
    const json = parseJson(line);
    if (typeof json === 'object' && json !== null && 'observed' in json) {
      observations.push(readLine(line, observation));
    } else causes.push(readLine(line, cause));
  }
  return { ...start, causes, observations };
}

interface Line {
  readonly line: string;
  readonly number: number;
}

function parseJson({ line, number }: Line): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new ScenarioError(`Line ${number} is not JSON.`);
  }
}

function readLine<Shape extends z.ZodType>(line: Line, shape: Shape): z.output<Shape> {
  const read = shape.safeParse(parseJson(line));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new ScenarioError(`Line ${line.number} is not a line of a scenario${where}: ${issue?.message}.`);
}
