import { z } from 'zod';
import { eventType } from '../service/events.ts';

const id = z.string().min(1).max(255);
const ms = z.int().min(0).max(600_000).describe('Milliseconds of the wall clock.');
/** A path of a surface, or what paths begin with. */
export const pathPattern = z
  .string()
  .regex(/^\/[^*]*\*?$/, 'must start with `/`; `*` may stand at the end only')
  .describe('Relative to the surface; may end in `*`.');
const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']).describe('Only calls with this method.');
const workspaceId = id.optional().describe('Only what belongs to this workspace.');

/** What a rule looks at. Absent fields match all. */
export const faultMatch = z.discriminatedUnion('surface', [
  z.strictObject({
    surface: z.literal('webhook').describe('The attempts of deliveries to any webhook.'),
    event: eventType.optional().describe('Only events of this type.'),
    workspaceId,
    connectionId: id.optional().describe('Only events of this connection.'),
  }),
  z.strictObject({
    surface: z.literal('api').describe('Calls to the REST interface, by either address.'),
    method: method.optional(),
    path: pathPattern.optional().describe('Relative to `{base_url}`, `/messages` say; may end in `*`.'),
    workspaceId,
  }),
  z.strictObject({
    surface: z.literal('oauth').describe('Requests to the OAuth endpoints and the tool server.'),
    method: method.optional(),
    path: pathPattern.optional().describe('Relative to `{auth_url}`, `/oauth/token` say; may end in `*`.'),
  }),
]);
export type FaultMatch = z.infer<typeof faultMatch>;
export type FaultSurface = FaultMatch['surface'];

/** What a rule does. `delay` and `slow` hold the request before it is handled. */
export const faultAction = z.discriminatedUnion('type', [
  z.strictObject({
    type: z
      .literal('drop')
      .describe('Webhooks: the attempt never leaves, and fails. With `per: "event"` the event is lost.'),
  }),
  z.strictObject({
    type: z.literal('duplicate').describe('Webhooks: more copies of the same bytes leave with the attempt.'),
    times: z.int().min(1).max(100).optional().describe('Copies besides the one; 1 unless told.'),
  }),
  z.strictObject({
    type: z
      .literal('delay')
      .describe('Webhooks: the attempt leaves later, as it was signed. Calls: handled later.'),
    ms,
  }),
  z.strictObject({
    type: z
      .literal('reorder')
      .describe(
        'Webhooks: the event is kept back and leaves after a later one of its account. Where all of them are kept back they leave after 3 s, the newest first.',
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
      .describe('Webhooks: the attempt is signed validly, but for a time that has passed.'),
    byMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .optional()
      .describe('Age of the timestamp in milliseconds; 6 minutes unless told.'),
  }),
  z.strictObject({
    type: z.literal('truncate').describe('Webhooks: the connection ends in the middle of the body.'),
  }),
  z.strictObject({
    type: z.literal('slow').describe('Webhooks: the second half of the body comes later.'),
    ms,
  }),
  z.strictObject({
    type: z.literal('status').describe('Calls: answered with this status; nothing is done.'),
    code: z.int().min(400).max(599).describe('The HTTP status of a refusal or a failure.'),
    error: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('The `error` of the body; absent: the one that the address has for the status.'),
    retryAfter: z.int().min(0).max(86_400).optional().describe('`Retry-After` in seconds; absent: none.'),
  }),
  z.strictObject({
    type: z.literal('reset').describe('Calls: the connection is reset; nothing is done.'),
  }),
  z.strictObject({
    type: z
      .literal('not_persisted')
      .describe('`POST /messages`: the message is delivered but not stored; `messageId` is null.'),
  }),
  z.strictObject({
    type: z.literal('lost_answer').describe('Calls: done in full, then the connection is reset unanswered.'),
  }),
]);
export type FaultAction = z.infer<typeof faultAction>;
export type FaultActionType = FaultAction['type'];

/** Which actions each surface knows. */
export const FAULT_ACTIONS: Readonly<Record<FaultSurface, readonly FaultActionType[]>> = {
  webhook: [
    'drop',
    'duplicate',
    'delay',
    'reorder',
    'tamper_body',
    'tamper_signature',
    'stale_timestamp',
    'truncate',
    'slow',
  ],
  api: ['status', 'reset', 'delay', 'not_persisted', 'lost_answer'],
  oauth: ['status', 'reset', 'delay', 'lost_answer'],
};

const ruleFields = {
  match: faultMatch.describe('What the rule looks at; absent fields match all.'),
  action: faultAction.describe('What happens to what it hits.'),
  first: z.int().min(1).optional().describe('Hits only the first so many that match.'),
  probability: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('How likely a match is hit, drawn from seed, rule, event and attempt alone.'),
  per: z
    .enum(['event', 'attempt'])
    .optional()
    .describe('Webhooks: `event` draws once for all attempts of an event; `attempt`, unless told, for each.'),
};
const ruleId = z.string().min(1).max(128).describe('Name of the rule, for the record of what it hit.');

/** A rule as it is given. Without `first` and `probability` it hits whatever matches. */
export const faultRuleRequest = z
  .strictObject({ id: ruleId, ...ruleFields })
  .refine((rule) => FAULT_ACTIONS[rule.match.surface].includes(rule.action.type), {
    message: 'is no action of this surface',
    path: ['action', 'type'],
  })
  .refine((rule) => rule.first === undefined || rule.probability === undefined, {
    message: 'cannot stand beside `first`',
    path: ['probability'],
  });
export type FaultRuleRequest = z.infer<typeof faultRuleRequest>;

/** Body of `PUT /faults`; replaces all rules and clears their counts. */
export const putFaultsRequest = z.strictObject({
  seed: z.int().min(0).optional().describe('What the draws depend on; stays as it is unless told.'),
  rules: z
    .array(faultRuleRequest)
    .max(1000)
    .refine((rules) => new Set(rules.map((rule) => rule.id)).size === rules.length, 'ids must differ')
    .describe('All rules from now on; each hit may have several.'),
});
export type PutFaultsRequest = z.infer<typeof putFaultsRequest>;

/** A rule with the count of what it hit. */
export const faultRule = z.object({
  id: ruleId,
  ...ruleFields,
  hits: z.int().min(0).describe('How many attempts, events or calls it has hit.'),
});
export type FaultRule = z.infer<typeof faultRule>;

/** Answer of `GET`, `PUT` and `DELETE /faults`. */
export const faults = z.object({
  seed: z.int().describe('What the draws depend on.'),
  rules: z.array(faultRule).describe('The rules in force.'),
});
export type Faults = z.infer<typeof faults>;
