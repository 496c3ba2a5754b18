import type { SessionState } from '../db/core-tables.ts';

/** The triggers of transitions. A deletion is not one: it removes the connection. */
export const TRIGGERS = [
  /** `POST /connections`, or creation outside of the API: pairing begins. */
  'created',
  /** The owner scanned the QR code or typed the pairing code, or the connection was created already paired. */
  'paired',
  /** The status probe, or a restart, found the session dead. */
  'outage_found',
  /** The session works again without a restart. */
  'recovered',
  /** A restart resumed the same session. */
  'restarted',
  /** A restart ended the session; the owner has to pair. */
  'restarted_needs_qr',
  /** The owner requested it, so it is not an outage. */
  'logged_out',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** The events that a transition may send. */
export type ConnectionEvent = 'connection.disconnected' | 'connection.connected';

/** The state of a connection and its flags. */
export interface Standing {
  readonly state: SessionState;
  /** The owner has to pair again. */
  // [state.needs-reconnect]
  readonly needsReconnect: boolean;
  /** The last event sent for it was `connection.disconnected`. */
  readonly reportedBroken: boolean;
}

interface Transition {
  readonly next: SessionState;
  readonly needsReconnect: boolean | 'as before';
  /** The event to send. `connection.connected` is sent only after `connection.disconnected`. */
  readonly sends: ConnectionEvent | null;
}

// [state.recovered.connected]
const repaired: Transition = { next: 'live', needsReconnect: false, sends: 'connection.connected' };

/**
 * All transitions. A connection that has paired before and lost its session needs its owner, so a logout of a live
 * connection sets `needsReconnect`; a logout before the first pairing does not. Implements `Connection status`.
 */
export const TRANSITIONS: Readonly<
  Record<SessionState | 'none', Readonly<Partial<Record<Trigger, Transition>>>>
> = {
  none: {
    // [state.created.connecting]
    created: { next: 'connecting', needsReconnect: false, sends: null },
  },
  connecting: {
    paired: repaired, // [state.paired.scan] [state.paired.code]
    // [state.restart.connecting]
    restarted_needs_qr: { next: 'connecting', needsReconnect: 'as before', sends: null },
    // [choice.logout.status]
    logged_out: { next: 'disconnected', needsReconnect: 'as before', sends: null },
  },
  live: {
    // [state.outage.needs-reconnect]
    outage_found: { next: 'disconnected', needsReconnect: true, sends: 'connection.disconnected' },
    restarted: { next: 'live', needsReconnect: false, sends: null },
    // [choice.logout.silent]
    logged_out: { next: 'disconnected', needsReconnect: true, sends: null },
  },
  disconnected: {
    paired: repaired,
    recovered: repaired,
    restarted: repaired,
    restarted_needs_qr: { next: 'connecting', needsReconnect: 'as before', sends: null },
    logged_out: { next: 'disconnected', needsReconnect: 'as before', sends: null },
  },
};

/** The result of a trigger: the new state and the event to send. */
export interface Step {
  readonly standing: Standing;
  readonly sends: ConnectionEvent | null;
}

/**
 * Applies a trigger. `mayEmit` is false if the connection emits no events (`cloud_api`, or without a valid license):
 * then no event is sent or counted as sent. Throws for a trigger that the table does not have in this state. That is
 * a bug in the caller: errors of clients are checked before.
 */
export function takeStep(from: Standing | null, trigger: Trigger, mayEmit: boolean): Step {
  const transition = TRANSITIONS[from?.state ?? 'none'][trigger];
  if (transition === undefined)
    throw new Error(`'${trigger}' cannot happen in state '${from?.state ?? 'none'}'`);
  const { next, needsReconnect, sends } = transition;
  const reported = from?.reportedBroken ?? false;
  // [state.outage.reported-once] [state.recovered.reported-once] [state.paired.silent] [state.paired.reported]
  // [events.disconnected.fires] [events.connected.fires]
  const isSent = sends !== null && mayEmit && (sends === 'connection.disconnected' || reported);
  return {
    standing: {
      state: next,
      needsReconnect: needsReconnect === 'as before' ? (from?.needsReconnect ?? false) : needsReconnect,
      reportedBroken: isSent ? sends === 'connection.disconnected' : reported,
    },
    sends: isSent ? sends : null,
  };
}
