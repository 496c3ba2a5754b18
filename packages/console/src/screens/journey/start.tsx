import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ConnectorMessage } from '../../../../../src/contract/connector/messages.ts';
import type { MessageKey } from '../../../../../src/contract/sandbox/messages.ts';
import { useNames } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { messageColumns } from '../../ui/message-columns.tsx';
import type { QueryToken } from '../../ui/query-bar.tsx';
import { type Column, FilteredTable } from '../../ui/table.tsx';
import { WriteAsContact } from '../../ui/write-as-contact.tsx';
import { messageOf } from '../inbox/conversations.ts';
import { type FoundMessage, findMessages, NEWEST } from './find-messages.ts';

const route = getRouteApi('/journey');

const TOKENS = [
  { key: 'contact', hint: 'number of the contact' },
  { key: 'message', hint: 'id of the message' },
  { key: 'connection', hint: 'id of a connection' },
  { key: 'direction', hint: 'direction', values: ['incoming', 'outgoing'] },
  { key: 'status', hint: 'status', values: ['sent', 'delivered', 'read', 'failed'] },
] as const satisfies readonly (QueryToken & { readonly key: MessageKey })[];

/** In production, what reported a message first. */
const FOUND_BY: Column<FoundMessage> = {
  heading: 'Found by',
  width: '68px',
  isMinor: true,
  cell: (row) => <span className="soft">{'firstSeenBy' in row ? row.firstSeenBy : ''}</span>,
};

const PAGE = '100';

/** Where a journey begins: the newest messages, or those that are searched by number, id or text. */
export function Start() {
  const { q = '' } = route.useSearch();
  const isSandbox = mode().mode === 'sandbox';
  const nameOf = useNames();
  const columns = useMemo(
    (): readonly Column<FoundMessage>[] => [...messageColumns(nameOf), ...(isSandbox ? [] : [FOUND_BY])],
    [nameOf, isSandbox],
  );
  const list = useLiveList<FoundMessage>({
    key: `journeys ${q}`,
    name: isSandbox ? 'messages' : 'connector',
    isWhole: q === '',
    idOf: ({ id }) => id,
    rowOf: (event, known) =>
      event.type !== 'change' || isSandbox
        ? undefined
        : messageOf(event.change, known as (id: string) => ConnectorMessage | undefined),
    read: (cursor) => findMessages(q, cursor, PAGE),
  });
  return (
    <div className="split">
      <div className="split-list">
        <FilteredTable
          q={q}
          tokens={isSandbox ? TOKENS : []}
          placeholder={
            isSandbox
              ? 'Number, id or text of a message'
              : `Number or id of a message, or a text of the newest ${NEWEST.toLocaleString('en')}`
          }
          label="Messages"
          kind="message"
          title="No messages yet"
          hint={
            isSandbox
              ? 'Have a contact write to one of your numbers.'
              : 'Messages appear here as the connector stores them.'
          }
          action={isSandbox ? <WriteAsContact className="button" /> : null}
          list={list}
          columns={columns}
          to="/journey/$id"
          timeOf={({ createdAt }) => createdAt}
          selectedId={undefined}
        />
      </div>
    </div>
  );
}
