import type { SessionState } from '../db/core-tables.ts';

/** What moves a session. A deletion moves nothing: it removes the connection. */
export const TRIGGERS = [
  /** `POST /connections`, or made outside the API: pairing begins. */
  'created',
  /** The owner scanned the picture or typed the code, or the number came paired. */
  'paired',
  /** The status probe, or a restart, found the session dead. */
  'outage_found',
  /** The session works again by itself. */
  'recovered',
  /** A restart took the same session up again. */
  'restarted',
  /** A restart ended the session; the owner has to pair. */
  'restarted_needs_qr',
  /** The owner asked for it: no outage. */
  'logged_out',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** The events that a transition may tell. */
export type ConnectionEvent = 'connection.disconnected' | 'connection.connected';

/** How a connection stands. */
export interface Standing {
  readonly state: SessionState;
  /** It waits for its owner to pair again. */
  // [state.needs-reconnect]
  readonly needsReconnect: boolean;
  /** The last event told of it was `connection.disconnected`. */
  readonly reportedBroken: boolean;
}

interface Transition {
  readonly next: SessionState;
  readonly needsReconnect: boolean | 'as before';
  /** `connection.connected` is told only to those who were told of the break. */
  readonly tells: ConnectionEvent | null;
}

// [state.recovered.connected]
const repaired: Transition = { next: 'live', needsReconnect: false, tells: 'connection.connected' };

/**
 * Every transition there is. A number that paired once and has no session waits for its owner, so a logout of
 * a live one sets `needsReconnect`; one that never paired waits for nobody. Implements `Connection status`.
 */
export const TRANSITIONS: Readonly<
  Record<SessionState | 'none', Readonly<Partial<Record<Trigger, Transition>>>>
> = {
  none: {
    // [state.created.connecting]
    created: { next: 'connecting', needsReconnect: false, tells: null },
  },
  connecting: {
    paired: repaired, // [state.paired.scan] [state.paired.code]
    // [state.restart.connecting]
    restarted_needs_qr: { next: 'connecting', needsReconnect: 'as before', tells: null },
    // [choice.logout.status]
    logged_out: { next: 'disconnected', needsReconnect: 'as before', tells: null },
  },
  live: {
    // [state.outage.needs-reconnect]
    outage_found: { next: 'disconnected', needsReconnect: true, tells: 'connection.disconnected' },
    restarted: { next: 'live', needsReconnect: false, tells: null },
    // [choice.logout.silent]
    logged_out: { next: 'disconnected', needsReconnect: true, tells: null },
  },
  disconnected: {
    paired: repaired,
    recovered: repaired,
    restarted: repaired,
    restarted_needs_qr: { next: 'connecting', needsReconnect: 'as before', tells: null },
    logged_out: { next: 'disconnected', needsReconnect: 'as before', tells: null },
  },
};

/** Where a trigger leads, and what is told of it. */
export interface Step {
  readonly standing: Standing;
  readonly tells: ConnectionEvent | null;
}

/**
 * Takes one step. `mayTell` is false where the connection emits no events (`cloud_api`, or without a valid
 * license): then nothing is told, nor counted as told. Throws for a trigger that the table does not have in
 * this state, which is a defect of the caller: what a client may get wrong is checked before.
 */
export function takeStep(from: Standing | null, trigger: Trigger, mayTell: boolean): Step {
  const transition = TRANSITIONS[from?.state ?? 'none'][trigger];
  if (transition === undefined)
    throw new Error(`'${trigger}' cannot happen in state '${from?.state ?? 'none'}'`);
  const { next, needsReconnect, tells } = transition;
  const reported = from?.reportedBroken ?? false;
  // [state.outage.told-once] [state.recovered.told-once] [state.paired.silent] [state.paired.told]
  // [events.disconnected.fires] [events.connected.fires]
  const isTold = tells !== null && mayTell && (tells === 'connection.disconnected' || reported);
  return {
    standing: {
      state: next,
      needsReconnect: needsReconnect === 'as before' ? (from?.needsReconnect ?? false) : needsReconnect,
      reportedBroken: isTold ? tells === 'connection.disconnected' : reported,
    },
    tells: isTold ? tells : null,
  };
}
