import { getRouteApi, Link, useNavigate, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { ConnectorMessage } from '../../../../../src/contract/connector/messages.ts';
import { connector } from '../../data/client.ts';
import { nameOf, useConnections } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { isNumber, nameContact, readNumber } from '../../data/numbers.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { messageColumns } from '../../ui/message-columns.tsx';
import { Split } from '../../ui/split.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { type Column, type ListControls, Table } from '../../ui/table.tsx';
import { useWide } from '../../ui/use-wide.ts';
import { ContactChat } from '../phone/contact.tsx';
import { Handset } from '../phone/handset.tsx';
import { OpenConversation } from './conversation.tsx';
import {
  type Conversation,
  conversationId,
  conversationsOf,
  messageOf,
  readConversationId,
} from './conversations.ts';
import '../phone/phone.css';
import './inbox.css';

const route = getRouteApi('/inbox');

const PAGE = '200';
/** Maximum number of connections that are offered for a first message. */
const MOST_OFFERED = 8;
/** Maximum number of pages that are read to find one more conversation. */
const MOST_PAGES = 10;

export function InboxScreen() {
  const { id } = useParams({ strict: false });
  if (!mode().connector) {
    return (
      <EmptyState
        title="No connector is attached"
        hint="The inbox reads the API of a connector. Stop npm run platform and run npm start, which starts one."
      />
    );
  }
  return (
    <Split
      closeTo="/inbox"
      list={<Conversations id={id} />}
      detail={id === undefined ? undefined : <Pair key={id} id={id} />}
    />
  );
}

/** The agent's side of a conversation; in a sandbox, where there is room, beside the phone of the contact. */
function Pair({ id }: { readonly id: string }) {
  const isWide = useWide();
  const connections = useConnections();
  const { connectionId, peer } = readConversationId(id);
  const hasPhone = isWide && mode().mode === 'sandbox' && peer !== null && isNumber(peer);
  return (
    <div className="pair" data-phone={hasPhone}>
      {hasPhone ? (
        <Handset name={`+${peer}`}>
          <ContactChat
            phone={peer}
            connectionId={connectionId}
            name={nameOf(connections.get(connectionId), connectionId)}
          />
        </Handset>
      ) : null}
      <OpenConversation id={id} />
    </div>
  );
}

function Conversations({ id }: { readonly id: string | undefined }) {
  const { peer = '' } = route.useSearch();
  const connections = useConnections();
  const [state, list] = useLiveList<ConnectorMessage>({
    key: `inbox ${peer}`,
    name: 'connector',
    isWhole: peer === '',
    pauses: false,
    idOf: (row) => row.id,
    rowOf: (event, known) => (event.type === 'change' ? messageOf(event.change, known) : undefined),
    read: async (cursor) => {
      const page = await connector('GET', '/v1/messages', { query: { cursor, peer, limit: PAGE } });
      return { entries: page.messages, nextCursor: page.nextCursor ?? undefined };
    },
  });
  const rows = useMemo(() => conversationsOf(state.rows), [state.rows]);
  const controls = useMemo(
    (): ListControls<Conversation> => ({
      source: { idOf: (row) => row.id },
      scrollTop: list.scrollTop,
      readMore: async () => {
        const count = conversationsOf(list.snapshot().rows).length;
        for (let pages = 0; pages < MOST_PAGES && list.snapshot().hasMore; pages += 1) {
          const before = list.snapshot().rows.length;
          await list.readMore();
          const { rows: now } = list.snapshot();
          if (now.length === before || conversationsOf(now).length > count) return;
        }
      },
      pause: () => undefined,
      resume: () => undefined,
      refresh: () => list.refresh(),
    }),
    [list],
  );
  const columns = messageColumns((connectionId) => nameOf(connections.get(connectionId), connectionId)).map(
    ({ cell, ...column }): Column<Conversation> => ({
      ...column,
      isMinor: column.heading === 'Connection',
      cell: ({ last }) => cell(last),
    }),
  );
  return (
    <>
      <NumberFilter key={peer} peer={peer} />
      <Table
        label="Conversations"
        list={[{ ...state, rows }, controls]}
        columns={columns}
        timeOf={({ last }) => last.createdAt}
        selectedId={id}
        to="/inbox/$id"
        empty={
          peer === '' ? (
            <EmptyState
              title="No messages yet"
              hint={
                mode().mode === 'sandbox'
                  ? 'Open the phone of a contact and write to one of your numbers.'
                  : 'Messages appear here as the connector stores them.'
              }
            />
          ) : (
            <EmptyState
              title={`No messages with ${nameContact(peer)} yet`}
              hint="Write to it from:"
              action={
                <p className="line">
                  {[...connections].slice(0, MOST_OFFERED).map(([connectionId, connection]) => (
                    <Link
                      key={connectionId}
                      to="/inbox/$id"
                      params={{ id: conversationId({ connectionId, peer }) }}
                      search={true}
                      className="button"
                    >
                      <bdi>{nameOf(connection, connectionId)}</bdi>
                    </Link>
                  ))}
                </p>
              }
            />
          )
        }
      />
    </>
  );
}

/** Only the conversations with one number. */
function NumberFilter({ peer }: { readonly peer: string }) {
  const navigate = useNavigate();
  const [text, setText] = useState(peer);
  const apply = (value: string): void => {
    const found = readNumber(value) ?? value.trim();
    void navigate({ to: '.', search: found === '' ? {} : { peer: found } });
  };
  return (
    <Form className="query query-line" onSubmit={() => apply(text)}>
      <input
        className="field"
        type="search"
        aria-label="Number of the contact"
        placeholder="Number of a contact"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <Button type="submit">Show</Button>
      {peer === '' ? null : (
        <Button kind="quiet" onClick={() => apply('')}>
          Show all
        </Button>
      )}
    </Form>
  );
}
