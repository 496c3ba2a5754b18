import type {
  ConnectionCause,
  OutageCause,
  ShownConnection,
} from '../../../../../src/contract/sandbox/connections.ts';

/** The states of a connection in the specification. `logged_out` and `disconnected` have the same status. */
export type StateName = 'connecting' | 'connected' | 'disconnected' | 'logged_out' | 'removed';

interface State {
  readonly name: StateName;
  readonly label: string;
  readonly meaning: string;
  /** What leads out of it. */
  readonly exits: string;
}

export const STATES: readonly State[] = [
  {
    name: 'connecting',
    label: 'connecting',
    meaning: 'It waits for its owner to scan the QR code or to type a pairing code.',
    exits: 'Pairing makes it connected.',
  },
  {
    name: 'connected',
    label: 'connected',
    meaning: 'It sends and receives messages.',
    exits: 'An outage that the service finds makes it disconnected.',
  },
  {
    name: 'disconnected',
    label: 'disconnected',
    meaning: 'Its session broke, and its owner has to pair it again.',
    exits: 'A recovery makes it connected again. A restart resumes the session, or asks for a new QR code.',
  },
  {
    name: 'logged_out',
    label: 'logged out',
    meaning: 'Its credentials are cleared, and its record is kept.',
    exits: 'A restart makes it connecting.',
  },
  {
    name: 'removed',
    label: 'removed',
    meaning: 'It was deleted for good, and its slot is back in the pool.',
    exits: 'Nothing leads out of it.',
  },
];

export function stateOf({ status, transitions }: Pick<ShownConnection, 'status' | 'transitions'>): StateName {
  if (status === 'connecting') return 'connecting';
  if (status !== 'disconnected') return 'connected';
  return transitions[0]?.cause === 'logged_out' ? 'logged_out' : 'disconnected';
}

export const CAUSES: Readonly<Record<ConnectionCause, string>> = {
  created: 'Created',
  paired: 'Paired by its owner',
  outage_found: 'The status probe found an outage',
  recovered: 'Recovered',
  restarted: 'Restarted, and the session resumed',
  restarted_needs_qr: 'Restarted, and needs a new QR code',
  logged_out: 'Logged out',
};

export const OUTAGES: Readonly<Record<OutageCause, string>> = {
  session_lost: 'Session lost',
  phone_off: 'Phone off',
  session_ageing: 'Session ageing',
  opened_elsewhere: 'Opened elsewhere',
  zombie: 'Zombie session',
};
