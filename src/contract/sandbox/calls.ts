import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { delivery, ledgerEntry } from './deliveries.ts';
import { pathPattern } from './faults.ts';
import { entriesOf, sandboxPageQuery } from './lists.ts';

/** One check of the gate and what it said. */
export const gateStep = z.object({ check: z.string(), passed: z.boolean(), why: z.string().optional() });
export type GateStep = z.infer<typeof gateStep>;

/**
 * A call to the service, with the reason for its answer. Of a credential the id alone is shown; queries and
 * bodies, where codes and tokens are, are not.
 */
export const apiCall = z.object({
  id: z.string(),
  at: dateTime,
  method: z.string(),
  path: z.string().describe('Below `{base_url}`; for OAuth and tools, below `{auth_url}`.'),
  tool: z.string().optional().describe('The tool that was called.'),
  credential: z
    .string()
    .nullable()
    .describe('Id of the API key, the grant or, at `/oauth/*`, the client; null: none was recognized.'),
  status: z.int().nullable().describe('Null: the connection was reset.'),
  code: z.string().nullable().describe('The error code of a refusal.'),
  ms: z.number().min(0),
  trace: z.array(gateStep).describe('The checks that ran, in their order; a refusal is the last.'),
  faults: z.array(z.string()).optional().describe('Ids of the fault rules that touched the call.'),
});
export type ApiCall = z.infer<typeof apiCall>;

/** Newest first. */
export const apiCallList = entriesOf(apiCall);
export type ApiCallList = z.infer<typeof apiCallList>;

/** Query of `GET /calls`. */
export const listCallsQuery = z.strictObject({
  code: z.string().min(1).max(128).optional(),
  path: pathPattern.max(2048).optional(),
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
  z.object({ type: z.literal('ledger'), entry: ledgerEntry }),
  z.object({ type: z.literal('delivery'), entry: delivery }),
  z.object({ type: z.literal('call'), entry: apiCall }),
  z.object({ type: z.literal('clock'), now: dateTime, frozen: z.boolean() }),
  z.object({ type: z.literal('changed'), what: changedList.describe('What to read again.') }),
]);
export type SandboxEvent = z.infer<typeof sandboxEvent>;
