import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { delivery, ledgerEntry } from './deliveries.ts';
import { pathPattern } from './faults.ts';
import { entriesOf, sandboxPageQuery } from './lists.ts';

/** One check of the gate and what it said. */
export const gateStep = z.object({
  check: z.string().describe('Which check, for example `scope`.'),
  passed: z.boolean().describe('Whether it let the call through.'),
  why: z.string().optional().describe('The reason, where there is one to tell.'),
});
export type GateStep = z.infer<typeof gateStep>;

/**
 * A call to the service, with the reason for its answer. Of a credential the id alone is shown; queries and
 * bodies, where codes and tokens are, are not.
 */
export const apiCall = z.object({
  id: z.string().describe('Position of the call.'),
  at: dateTime.describe('When it came in, virtual time.'),
  method: z.string().describe('The HTTP method.'),
  path: z.string().describe('Below `{base_url}`; for OAuth and tools, below `{auth_url}`.'),
  tool: z.string().optional().describe('The tool that was called.'),
  credential: z
    .string()
    .nullable()
    .describe('Id of the API key, the grant or, at `/oauth/*`, the client; null: none was recognized.'),
  workspaceId: z
    .string()
    .nullable()
    .describe('The workspace of the credential; null: none was recognized, or it is an OAuth client.'),
  status: z.int().nullable().describe('Null: the connection was reset.'),
  code: z.string().nullable().describe('The error code of a refusal.'),
  ms: z.number().min(0).describe('From the call to its answer, wall clock.'),
  trace: z.array(gateStep).describe('The checks that ran, in their order; a refusal is the last.'),
  faults: z.array(z.string()).optional().describe('Ids of the fault rules that touched the call.'),
});
export type ApiCall = z.infer<typeof apiCall>;

/** Newest first. */
export const apiCallList = entriesOf(apiCall);
export type ApiCallList = z.infer<typeof apiCallList>;

/** Query of `GET /calls`. */
export const listCallsQuery = z.strictObject({
  code: z.string().min(1).max(128).optional().describe('Only calls refused with this code.'),
  path: pathPattern.max(2048).optional().describe('Only calls to this path; may end in `*`.'),
  workspaceId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Only calls with a credential of this workspace.'),
  ...sandboxPageQuery,
});
export type ListCallsQuery = z.infer<typeof listCallsQuery>;

/** What an event may name as changed. */
export const CHANGED_LISTS = [
  'everything',
  'workspaces',
  'grants',
  'connections',
  'contacts',
  'messages',
  'webhook',
  'ledger',
  'deliveries',
  'calls',
  'faults',
  'hosts',
  'timers',
  'timing',
] as const;
const changedList = z.enum(CHANGED_LISTS);
export type ChangedList = z.infer<typeof changedList>;

/**
 * Data of one event of `GET /events`. The stream begins with `clock`; all that happens after it is told. A
 * reader too slow for single entries gets `changed` in their place.
 */
export const sandboxEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('ledger').describe('An event was meant to be delivered.'),
    entry: ledgerEntry.describe('As in `GET /ledger`.'),
  }),
  z.object({
    type: z.literal('delivery').describe('A delivery began, or changed.'),
    entry: delivery.describe('As in `GET /deliveries`.'),
  }),
  z.object({
    type: z.literal('call').describe('The service was called.'),
    entry: apiCall.describe('As in `GET /calls`.'),
  }),
  z.object({
    type: z.literal('clock').describe('Virtual time was moved, stopped or started.'),
    now: dateTime.describe('Virtual time.'),
    frozen: z.boolean().describe('True: time stands.'),
  }),
  z.object({
    type: z.literal('changed').describe('A list changed.'),
    what: changedList.describe('What to read again.'),
  }),
]);
export type SandboxEvent = z.infer<typeof sandboxEvent>;
