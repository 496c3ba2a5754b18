import { z } from 'zod';
import { change } from '../connector/changes.ts';
import { dateTime } from '../service/fields.ts';
import { delivery, ledgerEntry } from './deliveries.ts';
import { pathPattern } from './faults.ts';
import { filterQuery } from './filter.ts';
import { entriesOf, sandboxPageQuery } from './lists.ts';

/** One check of a call and its result. */
export const gateStep = z.object({
  check: z.string().describe('Name of the check, for example `scope`.'),
  passed: z.boolean().describe('Whether the call passed the check.'),
  why: z.string().optional().describe('The reason, if there is one.'),
});
export type GateStep = z.infer<typeof gateStep>;

const BOUND =
  'At most 16 kB, in lists and events 2 kB; one that is cut off ends with the number of bytes that follow, such as `… (31816 more bytes)`.';
const MASKED =
  'The values of secrets, tokens, codes, verifiers and states are replaced by `…`, so that a call can be passed on.';

/** A call to the service and the reason for its response. Only the id of the credential is shown. */
export const apiCall = z.object({
  id: z.string().describe('Position of the call in the list.'),
  at: dateTime.describe('When the call arrived, in virtual time.'),
  method: z.string().describe('The HTTP method.'),
  path: z.string().describe('Relative to `{base_url}` or, for OAuth and tools, to `{auth_url}`.'),
  query: z.string().optional().describe(`The query, without its question mark. ${BOUND} ${MASKED}`),
  tool: z.string().optional().describe('The tool that was called.'),
  credential: z
    .string()
    .nullable()
    .describe('Id of the API key, the grant or, at `/oauth/*`, the client; null if none was recognized.'),
  workspaceId: z
    .string()
    .nullable()
    .describe(
      'The workspace of the credential; null if none was recognized or the credential is an OAuth client.',
    ),
  connectionId: z.string().optional().describe('The connection that the call named.'),
  messageIds: z
    .array(z.string())
    .optional()
    .describe('The message that the call sent, or the messages that it marked as read, at most 20.'),
  status: z.int().nullable().describe('The HTTP status; null if the connection was reset.'),
  code: z.string().nullable().describe('The error code of a rejected call.'),
  ms: z.number().min(0).describe('Time from the call to its response, by the wall clock.'),
  trace: z
    .array(gateStep)
    .describe('The checks that ran, in order. If the call was rejected, the last one rejected it.'),
  requestBody: z
    .string()
    .optional()
    .describe(
      `The body of the request, as text and without its file; absent if the call was rejected before it was read. ${BOUND} ${MASKED}`,
    ),
  responseBody: z
    .string()
    .optional()
    .describe(
      `The body of the response, if it is JSON; absent for pages, files, the tool server, and responses of a fault. ${BOUND} ${MASKED}`,
    ),
  faults: z.array(z.string()).optional().describe('Ids of the fault rules that affected the call.'),
});
export type ApiCall = z.infer<typeof apiCall>;

/** Newest first. */
export const apiCallList = entriesOf(apiCall);
export type ApiCallList = z.infer<typeof apiCallList>;

/** What calls can be filtered by. */
export const CALL_KEYS = {
  status: {
    description: 'the HTTP status, or `none` if the connection was reset',
    pattern: [/^(\d{1,3}|none)$/, 'an HTTP status, the beginning of one such as 4*, or none'],
  },
  method: {
    description: 'the HTTP method',
    values: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
  },
  path: { description: 'the path' },
  code: { description: 'the error code of a rejected call' },
  tool: { description: 'the tool that was called' },
  credential: { description: 'id of the API key, the grant or the client' },
  workspace: { description: 'the workspace of the credential' },
  connection: { description: 'the connection that the call named' },
  message: { description: 'a message that the call sent or marked as read' },
  fault: { description: 'a fault rule that affected the call' },
} as const;
export type CallKey = keyof typeof CALL_KEYS;

/** Query of `GET /calls`. */
export const listCallsQuery = z.strictObject({
  q: filterQuery(CALL_KEYS),
  code: z.string().min(1).max(128).optional().describe('Only calls rejected with this code.'),
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

/** The lists that a `changed` event can name. */
export const CHANGED_LISTS = [
  'everything',
  'workspaces',
  'apps',
  'grants',
  'connections',
  'contacts',
  'messages',
  'webhooks',
  'ledger',
  'deliveries',
  'calls',
  'faults',
  'hosts',
  'timers',
  'timing',
  'snapshots',
  'connector',
] as const;
const changedList = z.enum(CHANGED_LISTS);
export type ChangedList = z.infer<typeof changedList>;

/**
 * Data of one event of `GET /events`. The stream starts with `clock` and then reports everything that happens in
 * the service and in the attached connector. A reader too slow for single entries gets `changed` instead.
 */
export const sandboxEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('ledger').describe('The service meant to deliver an event.'),
    entry: ledgerEntry.describe('The entry, as in `GET /ledger`.'),
  }),
  z.object({
    type: z.literal('delivery').describe('A delivery started or changed.'),
    entry: delivery.describe('The delivery, as in `GET /deliveries`.'),
  }),
  z.object({
    type: z.literal('call').describe('The service was called.'),
    entry: apiCall.describe('The call, as in `GET /calls`.'),
  }),
  z.object({
    type: z.literal('change').describe('The attached connector recorded a change.'),
    change: change.describe("The change, as in `GET /v1/changes` of the connector's API."),
  }),
  z.object({
    type: z.literal('clock').describe('Virtual time was advanced, frozen or resumed.'),
    now: dateTime.describe('The current virtual time.'),
    frozen: z.boolean().describe('Whether virtual time is frozen.'),
  }),
  z.object({
    type: z.literal('changed').describe('A list changed.'),
    what: changedList.describe(
      'The list to read again. `connector` stands for everything in the API of the attached connector: it started, stopped, or changes were missed.',
    ),
  }),
]);
export type SandboxEvent = z.infer<typeof sandboxEvent>;
