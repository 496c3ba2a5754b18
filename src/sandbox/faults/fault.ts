import type { FaultAction } from '../../contract/sandbox/faults.ts';
import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';

/** What a rule does to one attempt or one call. `name`, the id of the rule, appears in its record. */
export type Fault = FaultAction & { readonly name?: string };

/** The first fault of a type, if there is one. */
export function findFault<Type extends Fault['type']>(
  faults: readonly Fault[],
  type: Type,
): Extract<Fault, { type: Type }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { type: Type }> => fault.type === type);
}

/** What rules match: the event of a delivery. */
export type MatchedEvent = Pick<
  DeliveryRecord,
  'eventId' | 'event' | 'workspaceId' | 'connectionId' | 'messageId'
>;

/** Decides the faults of one attempt, counted from 1. */
export interface WebhookFaults {
  decide(event: MatchedEvent, attempt: number): readonly Fault[];
}

/** A call to be matched by rules. */
export interface FaultyCall {
  readonly method: string;
  /** Relative to the base URL, for example `/messages`; for OAuth and the tools, to `{auth_url}`. */
  readonly path: string;
  /** The workspace of the call's credential; null without one. Absent if it cannot be looked up. */
  readonly workspaceId?: () => Promise<string | null>;
}

/** Decides once per call, before it is handled. */
export interface ApiFaults {
  decide(call: FaultyCall): readonly Fault[] | Promise<readonly Fault[]>;
}
