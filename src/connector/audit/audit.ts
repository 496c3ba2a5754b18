import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

/** The events of the audit log. The names are stable, because alerts and searches depend on them. */
export const AUDIT_EVENTS = [
  'account.added',
  'account.changed',
  'account.removed',
  'connection.deleted',
  'consent.begun',
  'consent.finished',
  'consent.refused',
  'consumer.changed',
  'consumer.created',
  'consumer.deleted',
  'consumer.paused',
  'consumer.replayed',
  'consumer.resumed',
  'dead_letter.given_up',
  'dead_letter.replayed',
  'person.erased',
  'secret.rotated',
  'token.lacks_right',
  'token.refused',
  'tokens.loaded',
  'tool.called',
  'webhook.signature_refused',
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** Contents of a line. Only ids and names: never a token, a secret, a text or a phone number. */
export interface AuditFacts {
  /** The name of the token, or `settings` for a change by the environment. Absent if unknown. */
  readonly who?: string | undefined;
  /** What was requested or changed, such as a method and a path of the contract. */
  readonly what?: string | readonly string[] | undefined;
  /** The id of its object: an account, a subscription, a consumer, a dead letter. */
  readonly id?: string | undefined;
  /** The CRM's own id of an account. */
  readonly reference?: string | undefined;
  /** `ok`, or the code of the refusal. */
  readonly result: string;
  /**
   * The address of the client. For IPv6, its network of 64 bits; behind a proxy that is not configured, the
   * address of the proxy.
   */
  readonly address?: string | undefined;
}

/** Writes security events to the log. */
export type Audit = ReturnType<typeof createAudit>;

/** Maximum number of lines for one event in a minute: unauthenticated clients can cause some of them. */
const LINES_A_MINUTE = 60;
const MINUTE_MS = 60_000;

/**
 * Creates the audit log of one process. Each event has its own limit, so that a flood of one does not hide
 * others.
 */
export function createAudit({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
  /** How often each event occurred in its current minute, which its first line begins. */
  const minutes = new Map<AuditEvent, { count: number; readonly cancel: () => void }>();

  function endMinute(event: AuditEvent): void {
    const { count = 0, cancel } = minutes.get(event) ?? {};
    minutes.delete(event);
    cancel?.();
    const leftOut = count - LINES_A_MINUTE;
    if (leftOut > 0) logger.info({ event, leftOut }, 'audit: more of these came within a minute');
  }

  return {
    /**
     * Writes one line at `info`, unless too many of this event occurred within the minute; those are only
     * counted.
     */
    note(event: AuditEvent, facts: AuditFacts): void {
      const minute = minutes.get(event) ?? {
        count: 0,
        cancel: clock.after(MINUTE_MS, () => endMinute(event)),
      };
      minutes.set(event, minute);
      minute.count += 1;
      if (minute.count <= LINES_A_MINUTE) logger.info({ event, ...facts }, 'audit');
    },
    /** Logs how many lines were omitted, if any. */
    close(): void {
      for (const event of [...minutes.keys()]) endMinute(event);
    },
  };
}
