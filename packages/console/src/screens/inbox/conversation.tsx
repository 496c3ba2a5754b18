import { Link } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import type { ConnectorMessage } from '../../../../../src/contract/connector/messages.ts';
import type { Outbound } from '../../../../../src/contract/connector/outbound.ts';
import { connector } from '../../data/client.ts';
import { useRealNow, virtualLead } from '../../data/clock.ts';
import { nameOf, useConnections } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { isNumber, nameContact } from '../../data/numbers.ts';
import { useAction } from '../../data/use-action.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { Composer, type Content } from '../../ui/composer.tsx';
import { describeSend } from '../../ui/describe-send.ts';
import { JourneyLink } from '../../ui/journey-link.tsx';
import { randomId } from '../../ui/random-id.ts';
import { EmptyState, Failure } from '../../ui/states.tsx';
import { type Bubble, Thread } from '../../ui/thread.tsx';
import { showDuration } from '../../ui/times.tsx';
import { messageOf, readConversationId } from './conversations.ts';

const SEEN: Readonly<Record<ConnectorMessage['firstSeenBy'], string>> = {
  webhook: 'A webhook reported it first',
  poll: 'Polling found it first: its webhook was late, lost or never sent',
  send: 'The response to a send of this connector reported it first',
};

function MessageLinks({ message: { id, mediaUrl } }: { readonly message: ConnectorMessage }) {
  return (
    <span className="bubble-links">
      {mediaUrl === null ? null : (
        <a href={`/connector/v1/messages/${encodeURIComponent(id)}/media`} download>
          Download
        </a>
      )}
      <JourneyLink id={id} />
      {mode().mode === 'sandbox' ? (
        <Link to="/deliveries" search={{ q: `message:${id}` }}>
          Deliveries
        </Link>
      ) : null}
    </span>
  );
}

function bubbleOf(message: ConnectorMessage): Bubble {
  const { id, direction, text, mediaType, createdAt, status, errorMessage } = message;
  return {
    id,
    isOwn: direction === 'outgoing',
    text,
    file: mediaType,
    at: createdAt,
    kind: mode().mode === 'sandbox' ? 'virtual' : 'real',
    status,
    links: <MessageLinks message={message} />,
    source: <span title={SEEN[message.firstSeenBy]}>{message.firstSeenBy}</span>,
    ...(status === 'failed'
      ? {
          note: (
            <span className="bad">
              {errorMessage ?? 'It failed, and the service gave no reason.'} Writing it again sends a new
              message.
            </span>
          ),
        }
      : {}),
  };
}

function SendNote({ send }: { readonly send: Outbound }) {
  const { id, state, attempts, lastError, nextAttemptAt, reference } = send;
  const { word, tone, certain, remedy, canCancel, canRetry } = describeSend(send);
  const cancel = useAction({
    mutationFn: () => connector('DELETE', '/v1/outbound/{id}', { params: { id } }),
  });
  const retry = useAction({
    mutationFn: () => connector('POST', '/v1/outbound/{id}/retry', { params: { id } }),
  });
  const error = cancel.error ?? retry.error;
  return (
    <>
      <span title={`Reference ${reference}`}>
        <Chip tone={tone}>{word}</Chip> {certain}{' '}
        {lastError === null ? null : <span className="mono">{lastError}: </span>}
        {remedy}
        {attempts < 2 ? null : ` ${attempts} attempts.`}
        {state === 'queued' && nextAttemptAt !== null ? <NextAttempt at={Date.parse(nextAttemptAt)} /> : null}
      </span>{' '}
      {canCancel && mode().write ? <Button action={cancel}>Cancel</Button> : null}
      {canRetry && mode().write ? <Button action={retry}>Retry</Button> : null}
      <Failure error={error} />
    </>
  );
}

function NextAttempt({ at }: { readonly at: number }) {
  const left = at - useRealNow();
  return <> {left < 1_000 ? 'The next attempt is due.' : `Next attempt in ${showDuration(left)}.`}</>;
}

/** A send that is not a stored message, or not yet. Its times are real; messages have virtual time in the sandbox. */
function sendBubble(send: Outbound): Bubble {
  const { id, text, media, createdAt } = send;
  return {
    id: `send ${id}`,
    isOwn: true,
    text: text ?? media?.caption ?? null,
    file: media?.filename ?? null,
    at: createdAt,
    kind: 'real',
    note: <SendNote send={send} />,
  };
}

const isRunning = ({ state }: Outbound): boolean => state === 'queued' || state === 'sending';

/** Messages and open sends in the order of time; what is still to be sent comes last. */
function arrange(
  messages: readonly ConnectorMessage[],
  sends: readonly Outbound[],
  isWhole: boolean,
): Bubble[] {
  const ids = new Set(messages.map(({ id }) => id));
  const oldest = isWhole ? 0 : Math.min(...messages.map(({ createdAt }) => Date.parse(createdAt)));
  const placed = [
    ...messages.map((message) => ({ at: Date.parse(message.createdAt), bubble: bubbleOf(message) })),
    ...sends
      .filter(({ messageId }) => messageId === null || !ids.has(messageId))
      .map((send) => ({
        at: isRunning(send) ? Number.POSITIVE_INFINITY : Date.parse(send.createdAt) + virtualLead(),
        bubble: sendBubble(send),
      }))
      .filter(({ at }) => at >= oldest),
  ];
  // Both lists are newest first, and the order of equal times is kept.
  return placed
    .reverse()
    .sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    .map(({ bubble }) => bubble);
}

/** The messages with one contact over one connection, and an answer. */
export function OpenConversation({ id }: { readonly id: string }) {
  const { connectionId, peer } = readConversationId(id);
  const connections = useConnections();
  const connection = connections.get(connectionId);
  const [{ rows, isLoading, error, hasMore }, list] = useLiveList<ConnectorMessage>({
    key: `conversation ${id}`,
    name: 'connector',
    isWhole: true,
    idOf: (row) => row.id,
    rowOf(event, known) {
      const message = event.type === 'change' ? messageOf(event.change, known) : undefined;
      if (message?.connectionId !== connectionId) return undefined;
      // Also one whose contact has just become known: it leaves the conversation.
      return message.peer === peer || known(message.id) !== undefined ? message : undefined;
    },
    read: async (cursor) => {
      const query = { connectionId, peer: peer ?? '', cursor, limit: '50' };
      const { messages, nextCursor } = await connector('GET', '/v1/messages', { query });
      return { entries: messages, nextCursor: nextCursor ?? undefined };
    },
  });
  const [sends] = useLiveList<Outbound>({
    key: `sends ${id}`,
    name: 'connector',
    isWhole: true,
    idOf: (row) => row.id,
    rowOf: (event) =>
      event.type === 'change' &&
      event.change.type === 'outbound.updated' &&
      event.change.connectionId === connectionId
        ? event.change.data
        : undefined,
    read: async (cursor) => {
      const query = { connectionId, to: peer ?? undefined, cursor, limit: '1000' };
      const { outbound, nextCursor } = await connector('GET', '/v1/outbound', { query });
      return { entries: outbound, nextCursor: nextCursor ?? undefined };
    },
  });
  const bubbles = useMemo(
    () =>
      arrange(
        rows.filter((row) => row.peer === peer),
        sends.rows.filter(({ to, state }) => to === peer && state !== 'sent'),
        !hasMore,
      ),
    [rows, sends.rows, peer, hasMore],
  );
  const read = useAction({
    mutationFn: () =>
      connector('POST', '/v1/read-receipts', {
        body: { connectionId, ...(peer === null ? {} : { phone: peer }) },
      }),
  });
  const isEmpty = !isLoading && error === undefined && rows.length === 0;
  if (isEmpty && connection === undefined && connections.size > 0)
    return (
      <EmptyState
        title="There is no such conversation"
        hint="The connector knows no connection with this id."
      />
    );
  const name = peer === null ? 'unknown contact' : nameContact(peer);
  const customer = rows.find(({ customerRef }) => customerRef !== null)?.customerRef;
  const canWrite = mode().write && peer !== null && isNumber(peer);
  return (
    <div className="conversation">
      <header>
        <h1 className={peer === null ? '' : 'mono'}>{name}</h1>
        <p className="line soft">
          <bdi>{nameOf(connection, connectionId)}</bdi>
          {connection === undefined || connection.health === 'working' ? null : (
            <Chip tone="warn">{connection.health.replaceAll('_', ' ')}</Chip>
          )}
          {customer == null ? null : (
            <span>
              Customer <bdi>{customer}</bdi>
            </span>
          )}
          {canWrite ? <Button action={read}>Mark as read</Button> : null}
          {read.data === undefined ? null : <span role="status">{read.data.marked} marked</span>}
          {mode().mode === 'sandbox' && peer !== null && isNumber(peer) ? (
            <Link to="/phone/$id" params={{ id: peer }} search={{ list: 'contacts', with: connectionId }}>
              Open its phone
            </Link>
          ) : null}
        </p>
        <Failure error={read.error} />
      </header>
      <Failure error={error} onRetry={() => list.refresh()} />
      <Thread
        label={`Messages with ${name}`}
        bubbles={bubbles}
        hasMore={hasMore}
        onMore={() => void list.readMore()}
        empty={
          isLoading || error !== undefined ? null : (
            <EmptyState
              title="No messages in this conversation"
              hint={canWrite ? 'Write the first one below.' : undefined}
            />
          )
        }
      />
      {canWrite ? <Answer connectionId={connectionId} peer={peer} /> : null}
      {peer === null ? (
        <p className="conversation-hint soft">
          These messages were found by polling, whose list does not name the contact. They move to their
          conversation when a webhook names it.
        </p>
      ) : null}
    </div>
  );
}

/** Queues a send. The same content after a lost response has the same reference, so that it is sent once. */
function Answer({ connectionId, peer }: { readonly connectionId: string; readonly peer: string }) {
  const tried = useRef({ content: '', reference: '' });
  const send = async (content: Content): Promise<void> => {
    const text = JSON.stringify(content);
    if (tried.current.content !== text) tried.current = { content: text, reference: randomId() };
    const { reference } = tried.current;
    await connector('POST', '/v1/messages', { body: { connectionId, to: peer, reference, ...content } });
    tried.current = { content: '', reference: '' };
  };
  return <Composer label={`Answer to +${peer}`} send={send} />;
}
