import { z } from 'zod';
import { eventType } from '../service/events.ts';

const ms = z.int().min(0).max(600_000);
/** A path of a surface, or what paths begin with. */
export const pathPattern = z
  .string()
  .regex(/^\/[^*]*\*?$/, 'must start with `/`; `*` may stand at the end only')
  .describe('Relative to the surface; may end in `*`.');
const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']);

/** What a rule looks at. Absent fields match all. */
export const faultMatch = z.discriminatedUnion('surface', [
  z.strictObject({
    surface: z.literal('webhook'),
    event: eventType.optional(),
    connectionId: z.string().min(1).max(255).optional(),
  }),
  z.strictObject({ surface: z.literal('api'), method: method.optional(), path: pathPattern.optional() }),
  z.strictObject({ surface: z.literal('oauth'), method: method.optional(), path: pathPattern.optional() }),
]);
export type FaultMatch = z.infer<typeof faultMatch>;
export type FaultSurface = FaultMatch['surface'];

/** What a rule does. `delay` and `slow` hold the request before it is handled. */
export const faultAction = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('drop') }),
  z.strictObject({
    type: z.literal('duplicate'),
    times: z.int().min(1).max(100).optional().describe('Copies besides the one; 1 unless told.'),
  }),
  z.strictObject({ type: z.literal('delay'), ms }),
  z.strictObject({ type: z.literal('reorder') }),
  z.strictObject({ type: z.literal('tamper_body') }),
  z.strictObject({ type: z.literal('tamper_signature') }),
  z.strictObject({
    type: z.literal('stale_timestamp'),
    byMs: z.int().min(0).max(86_400_000).optional().describe('Age of the timestamp; 6 minutes unless told.'),
  }),
  z.strictObject({ type: z.literal('truncate') }),
  z.strictObject({ type: z.literal('slow'), ms }),
  z.strictObject({
    type: z.literal('status'),
    code: z.int().min(200).max(599),
    error: z.string().min(1).max(128).optional(),
    retryAfter: z.int().min(0).max(86_400).optional().describe('Seconds.'),
  }),
  z.strictObject({ type: z.literal('reset') }),
  z.strictObject({ type: z.literal('not_persisted') }),
  z.strictObject({ type: z.literal('lost_answer') }),
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
  match: faultMatch,
  action: faultAction,
  first: z.int().min(1).optional().describe('Hits the first so many that match.'),
  probability: z.number().min(0).max(1).optional().describe('Drawn from seed, rule, event and attempt.'),
  per: z
    .enum(['event', 'attempt'])
    .optional()
    .describe('`event` draws once for all attempts of an event; `attempt`, unless told, for each.'),
};

/** A rule as it is given. Without `first` and `probability` it hits whatever matches. */
export const faultRuleRequest = z
  .strictObject({ id: z.string().min(1).max(128), ...ruleFields })
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
  seed: z.int().min(0).optional().describe('Stays as it is unless told.'),
  rules: z
    .array(faultRuleRequest)
    .max(1000)
    .refine((rules) => new Set(rules.map((rule) => rule.id)).size === rules.length, 'ids must differ'),
});
export type PutFaultsRequest = z.infer<typeof putFaultsRequest>;

/** A rule with the count of what it hit. */
export const faultRule = z.object({ id: z.string(), ...ruleFields, hits: z.int().min(0) });
export type FaultRule = z.infer<typeof faultRule>;

/** Answer of `GET`, `PUT` and `DELETE /faults`. */
export const faults = z.object({ seed: z.int(), rules: z.array(faultRule) });
export type Faults = z.infer<typeof faults>;
