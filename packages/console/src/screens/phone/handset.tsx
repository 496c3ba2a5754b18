import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';
import { sandbox } from '../../data/client.ts';
import { useVirtualNow } from '../../data/clock.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Button } from '../../ui/button.tsx';
import { Ticks } from '../../ui/chip.tsx';
import { EmptyState, Failure, Loading } from '../../ui/states.tsx';
import { type Bubble, Thread } from '../../ui/thread.tsx';
import { showTime, Time } from '../../ui/times.tsx';
import { chatsOf } from './chats.ts';

/** The frame of a phone with the time of its world. */
export function Handset({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  const time = useVirtualNow();
  return (
    <section className="handset" aria-label={name}>
      <p className="handset-top" aria-hidden="true">
        <span>{time === undefined ? '' : showTime(time.now).slice(0, 5)}</span>
        <span>{name}</span>
      </p>
      {children}
    </section>
  );
}

/** The messages that the service stores for a filter, newest first. */
export function useStored(q: string) {
  return useLiveList<StoredMessage>({
    key: `messages ${q}`,
    name: 'messages',
    idOf: (row) => row.id,
    read: (cursor) => sandbox('GET', '/messages', { query: { q, cursor, limit: '100' } }),
  });
}

/** A chat partner of a phone. */
export interface Other {
  readonly id: string;
  readonly name: string;
}

/** The chats of a phone, newest first, and then those whom it has not written to. */
export function ChatList({
  id,
  q,
  otherOf,
  nameOf,
  others = [],
  empty,
}: {
  readonly id: string;
  readonly q: string;
  readonly otherOf: (message: StoredMessage) => string;
  readonly nameOf: (other: string) => string;
  readonly others?: readonly Other[];
  readonly empty: ReactNode;
}) {
  const [{ rows, isLoading, error, hasMore }, list] = useStored(q);
  const chats = chatsOf(rows, otherOf);
  const known = new Set(chats.map(({ other }) => other));
  const all = [
    ...chats.map(({ other, last }) => ({ id: other, name: nameOf(other), last })),
    ...others.filter((other) => !known.has(other.id)).map((other) => ({ ...other, last: undefined })),
  ];
  if (isLoading) return <Loading label="Loading chats" />;
  return (
    <div className="chats">
      <Failure error={error} onRetry={() => list.refresh()} />
      {all.length === 0 && error === undefined ? empty : null}
      <ul>
        {all.map((other) => (
          <li key={other.id}>
            <Link
              to="/phone/$id"
              params={{ id }}
              search={(search) => ({ ...search, with: other.id })}
              className="chat"
            >
              <span className="chat-line">
                <bdi>{other.name}</bdi>
                {other.last === undefined ? null : <Time iso={other.last.createdAt} kind="virtual" />}
              </span>
              {other.last === undefined ? (
                <span className="chat-last faint">Write the first message</span>
              ) : (
                <span className="chat-last soft">
                  {(otherOf(other.last) === other.last.peer) === (other.last.direction === 'outgoing') ? (
                    <Ticks status={other.last.status} />
                  ) : null}{' '}
                  <bdi>{other.last.text ?? other.last.filename ?? other.last.mediaType}</bdi>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
      {hasMore ? (
        <Button kind="quiet" onClick={() => void list.readMore()}>
          Show older chats
        </Button>
      ) : null}
    </div>
  );
}

/** A chat on a phone: who is at the other end, the messages, and below them what the phone can do. */
export function ChatView({
  id,
  q,
  other,
  name,
  isOwn,
  bubblesOf = () => [],
  actions,
  children,
}: {
  readonly id: string;
  readonly q: string;
  readonly other: { readonly phone: string; readonly chat: string };
  readonly name: string;
  readonly isOwn: (message: StoredMessage) => boolean;
  /** What the phone shows beside the stored messages. */
  readonly bubblesOf?: (stored: readonly StoredMessage[], isWhole: boolean) => readonly Bubble[];
  readonly actions: (stored: readonly StoredMessage[]) => ReactNode;
  readonly children?: ReactNode;
}) {
  const [{ rows, isLoading, error, hasMore }, list] = useStored(q);
  const bubbles = useMemo(() => {
    const stored = rows.map(
      (row): Bubble => ({
        id: row.id,
        isOwn: isOwn(row),
        text: row.text,
        file: row.filename ?? row.mediaType,
        at: row.createdAt,
        kind: 'virtual',
        status: isOwn(row) ? row.status : null,
        ...(row.errorMessage === null ? {} : { note: row.errorMessage }),
      }),
    );
    return [...stored.reverse(), ...bubblesOf(rows, !hasMore)].sort(
      (a, b) => Date.parse(a.at) - Date.parse(b.at),
    );
  }, [rows, hasMore, isOwn, bubblesOf]);
  return (
    <>
      <header className="chat-top">
        <Link
          to="/phone/$id"
          params={{ id }}
          search={(all) => ({ ...all, with: undefined })}
          className="button quiet"
          aria-label="All chats"
        >
          ‹
        </Link>
        <Link
          to="/phone/$id"
          params={{ id: other.phone }}
          search={{ ...(/^\d+$/.test(other.phone) ? { list: 'contacts' } : {}), with: other.chat }}
          title="Open the phone at the other end"
        >
          <bdi>{name}</bdi>
        </Link>
        <span className="end">{actions(rows)}</span>
      </header>
      <Failure error={error} onRetry={() => list.refresh()} />
      <Thread
        label={`Chat with ${name}`}
        bubbles={bubbles}
        hasMore={hasMore}
        onMore={() => void list.readMore()}
        empty={isLoading || error !== undefined ? null : <EmptyState title="Nothing was written yet" />}
      />
      {children}
    </>
  );
}
