import Incoming from 'lucide-react/icons/arrow-down-left';
import { mode } from '../data/live.ts';
import { nameContact } from '../data/numbers.ts';
import { type TickStatus, Ticks } from './chip.tsx';
import type { Column } from './table.tsx';
import { Time } from './times.tsx';

interface ListedMessage {
  readonly connectionId: string;
  readonly direction: string;
  readonly peer: string | null;
  readonly text: string | null;
  readonly mediaType: string | null;
  readonly status: TickStatus | null;
  readonly createdAt: string;
}

/** What a list shows of a message: with whom, over which connection, what, and when. */
export const messageColumns = (
  nameOf: (connectionId: string) => string,
): readonly Column<ListedMessage>[] => [
  {
    heading: 'Contact',
    width: '118px',
    cell: ({ peer }) =>
      peer === null ? (
        <span className="faint">unknown</span>
      ) : (
        <span className="mono">{nameContact(peer)}</span>
      ),
  },
  {
    heading: 'Connection',
    width: 'minmax(60px, 0.6fr)',
    isMinor: true,
    cell: ({ connectionId }) => <bdi className="soft">{nameOf(connectionId)}</bdi>,
  },
  {
    heading: 'Message',
    width: 'minmax(60px, 2fr)',
    cell: ({ direction, text, mediaType, status }) => (
      <>
        {direction === 'incoming' || status === null ? (
          <Incoming aria-label="incoming" className="incoming" />
        ) : (
          <Ticks status={status} />
        )}{' '}
        <bdi>{text ?? mediaType ?? 'no text'}</bdi>
      </>
    ),
  },
  {
    heading: 'Time',
    width: '60px',
    align: 'end',
    cell: ({ createdAt }) => <Time iso={createdAt} kind={mode().mode === 'sandbox' ? 'virtual' : 'real'} />,
  },
];
