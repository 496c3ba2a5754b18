import { z } from 'zod';
import { eventType } from '../service/events.ts';
import { FAULT_ACTIONS } from './fault-actions.ts';

const id = z.string().min(1).max(255);
const ms = z.int().min(0).max(600_000).describe('Duration in milliseconds of the wall clock.');
/** A path of a surface, or a path prefix. */
export const pathPattern = z
  .string()
  .regex(/^\/[^*]*\*?$/, 'must start with `/`; `*` is allowed only at the end')
  .describe('Relative to the surface; may end in `*`.');
const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']).describe('Only calls with this method.');
const workspaceId = id.optional().describe('Only calls and events of this workspace.');

/** What a rule applies to. Absent fields match everything. */
export const faultMatch = z.discriminatedUnion('surface', [
  z.strictObject({
    surface: z.literal('webhook').describe('Attempts of deliveries to any webhook.'),
    event: eventType.optional().describe('Only events of this type.'),
    workspaceId,
    connectionId: id.optional().describe('Only events of this connection.'),
  }),
  z.strictObject({
    surface: z.literal('api').describe('Calls to the REST API, by either address.'),
    method: method.optional(),
    path: pathPattern
      .optional()
      .describe('Relative to `{base_url}`, for example `/messages`; may end in `*`.'),
    workspaceId,
  }),
  z.strictObject({
    surface: z.literal('oauth').describe('Requests to the OAuth endpoints and the tool server.'),
    method: method.optional(),
    path: pathPattern
      .optional()
      .describe('Relative to `{auth_url}`, for example `/oauth/token`; may end in `*`.'),
  }),
]);
export type FaultMatch = z.infer<typeof faultMatch>;
export type FaultSurface = FaultMatch['surface'];

/** What a rule does. `delay` and `slow` hold the request before it is handled. */
export const faultAction = z.discriminatedUnion('type', [
  z.strictObject({
    type: z
      .literal('drop')
      .describe('Webhooks: the attempt is not sent and fails. With `per: "event"`, the event is lost.'),
  }),
  z.strictObject({
    type: z
      .literal('duplicate')
      .describe('Webhooks: additional copies of the same bytes are sent with the attempt.'),
    times: z.int().min(1).max(100).optional().describe('Number of additional copies; defaults to 1.'),
  }),
  z.strictObject({
    type: z
      .literal('delay')
      .describe(
        'Webhooks: the attempt is sent later, with its original signature. Calls: the call is handled later.',
      ),
    ms,
  }),
  z.strictObject({
    type: z
      .literal('reorder')
      .describe(
        'Webhooks: the event is held back and sent after a later one of its account. If all events are held back, they are sent after 3 s, newest first.',
      ),
  }),
  z.strictObject({
    type: z
      .literal('tamper_body')
      .describe('Webhooks: one byte of the body is altered after signing, so the signature is wrong.'),
  }),
  z.strictObject({
    type: z.literal('tamper_signature').describe('Webhooks: one digit of the signature is altered.'),
  }),
  z.strictObject({
    type: z
      .literal('stale_timestamp')
      .describe('Webhooks: the attempt has a valid signature, but for a time in the past.'),
    byMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .optional()
      .describe('Age of the timestamp in milliseconds; defaults to 6 minutes.'),
  }),
  z.strictObject({
    type: z.literal('truncate').describe('Webhooks: the connection is closed in the middle of the body.'),
  }),
  z.strictObject({
    type: z.literal('slow').describe('Webhooks: the second half of the body is sent later.'),
    ms,
  }),
  z.strictObject({
    type: z.literal('status').describe('Calls: this status is returned without handling the call.'),
    code: z.int().min(400).max(599).describe('The HTTP status to return: a refusal or a failure.'),
    error: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('The `error` of the body; if absent, the one that the address has for this status.'),
    retryAfter: z
      .int()
      .min(0)
      .max(86_400)
      .optional()
      .describe('`Retry-After` in seconds; if absent, the header is not sent.'),
  }),
  z.strictObject({
    type: z.literal('reset').describe('Calls: the connection is reset without handling the call.'),
  }),
  z.strictObject({
    type: z
      .literal('not_persisted')
      .describe('`POST /messages`: the message is delivered but not stored; `messageId` is null.'),
  }),
  z.strictObject({
    type: z
      .literal('lost_answer')
      .describe('Calls: the call is handled completely, then the connection is reset without a response.'),
  }),
]);
export type FaultAction = z.infer<typeof faultAction>;
export type FaultActionType = FaultAction['type'];

const ACTIONS: Readonly<Record<FaultSurface, readonly FaultActionType[]>> = FAULT_ACTIONS;

const ruleFields = {
  match: faultMatch.describe('What the rule applies to; absent fields match everything.'),
  action: faultAction.describe('The action for each hit.'),
  first: z.int().min(1).optional().describe('Only this many matches are hit, the first ones.'),
  probability: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'Probability that a match is hit. The draw depends only on the seed, the rule, the event and the attempt.',
    ),
  per: z
    .enum(['event', 'attempt'])
    .optional()
    .describe(
      'Webhooks: `event` draws once for all attempts of an event; `attempt` (default) draws for each attempt.',
    ),
};
const ruleId = z
  .string()
  .min(1)
  .max(128)
  // Postgres stores neither a NUL nor half a character.
  .regex(/^[^\0\ud800-\udfff]*$/u, 'must be well-formed Unicode without NUL')
  .describe('Id of the rule, for the record of its hits.');

/** A rule as it is set. Without `first` and `probability` it hits every match. */
export const faultRuleRequest = z
  .strictObject({ id: ruleId, ...ruleFields })
  .refine((rule) => ACTIONS[rule.match.surface].includes(rule.action.type), {
    message: 'is not an action of this surface',
    path: ['action', 'type'],
  })
  .refine((rule) => rule.first === undefined || rule.probability === undefined, {
    message: 'cannot be combined with `first`',
    path: ['probability'],
  });
export type FaultRuleRequest = z.infer<typeof faultRuleRequest>;

/** How many rules can be active. */
export const MAX_FAULT_RULES = 1000;

/** Body of `PUT /faults`; replaces all rules and clears their hit counts. */
export const putFaultsRequest = z.strictObject({
  seed: z.int().min(0).optional().describe('The seed of the draws; if absent, it stays unchanged.'),
  rules: z
    .array(faultRuleRequest)
    .max(MAX_FAULT_RULES)
    .refine((rules) => new Set(rules.map((rule) => rule.id)).size === rules.length, 'must have unique ids')
    .describe('All rules from now on. Several rules may hit the same delivery or call.'),
});
export type PutFaultsRequest = z.infer<typeof putFaultsRequest>;

/** A rule with its hit count. */
export const faultRule = z.object({
  id: ruleId,
  ...ruleFields,
  hits: z.int().min(0).describe('How many attempts, events or calls the rule has hit.'),
});
export type FaultRule = z.infer<typeof faultRule>;

/** Answer of `GET`, `PUT` and `DELETE /faults`. */
export const faults = z.object({
  seed: z.int().describe('The seed of the draws.'),
  rules: z.array(faultRule).describe('The active rules.'),
});
export type Faults = z.infer<typeof faults>;
