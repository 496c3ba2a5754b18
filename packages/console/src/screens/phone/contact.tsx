import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import type { PutContactRequest } from '../../../../../src/contract/sandbox/contacts.ts';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';
import { sandbox } from '../../data/client.ts';
import { SERVICE_CONNECTIONS } from '../../data/connections.ts';
import { queries, stream } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Composer, type Content } from '../../ui/composer.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { EmptyState, Failure } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import type { Bubble } from '../../ui/thread.tsx';
import { describeContact, unrecorded } from './chats.ts';
import { ChatList, ChatView, Handset } from './handset.tsx';

const route = getRouteApi('/phone');

const isIncoming = ({ direction }: StoredMessage): boolean => direction === 'incoming';
const connectionOf = ({ connectionId }: StoredMessage): string => connectionId;

/** The connections that a contact can write to, with the names that its phone shows. */
function useNumbers() {
  const { data } = useRead(SERVICE_CONNECTIONS);
  return useMemo(() => {
    const paired = data?.filter(({ phoneNumber }) => phoneNumber !== null) ?? [];
    return paired.map(({ id, label, phoneNumber }) => ({ id, name: `${label} +${phoneNumber}`.trim() }));
  }, [data]);
}

export function ContactPhone({ phone }: { readonly phone: string }) {
  const { with: other } = route.useSearch();
  const numbers = useNumbers();
  const nameOf = (id: string): string => numbers.find((each) => each.id === id)?.name ?? id;
  return (
    <div className="phone">
      <header>
        <h1 className="mono">+{phone}</h1>
        <Behavior phone={phone} />
      </header>
      <Handset name={`+${phone}`}>
        {other === undefined ? (
          <ChatList
            id={phone}
            q={`contact:${phone}`}
            otherOf={connectionOf}
            nameOf={nameOf}
            others={numbers}
            empty={<EmptyState title="Nobody to write to" hint="Pair a connection first." />}
          />
        ) : (
          <ContactChat key={other} phone={phone} connectionId={other} name={nameOf(other)} />
        )}
      </Handset>
    </div>
  );
}

/** The chat of a contact with one number, on its phone. */
export function ContactChat({
  phone,
  connectionId,
  name,
}: {
  readonly phone: string;
  readonly connectionId: string;
  readonly name: string;
}) {
  const [written, setWritten] = useState<readonly Bubble[]>([]);
  // The sandbox may have been reset: then it was never written.
  useEffect(
    () =>
      stream().listen((event) => {
        if (event.type === 'changed' && event.what === 'everything') setWritten([]);
      }),
    [],
  );
  const { data: received } = useRead({
    queryKey: ['messages', 'received', phone],
    queryFn: () =>
      sandbox('GET', '/contacts/{phone}/messages', { params: { phone }, query: { limit: '1000' } }),
  });
  const read = useAction({
    mutationFn: async (messages: readonly StoredMessage[]) => {
      for (const { id } of messages)
        await sandbox('POST', '/messages/{id}/status', { params: { id }, body: { status: 'read' } });
    },
  });
  const write = async (content: Content): Promise<void> => {
    // What fails after the message was written would have it written again.
    const { now } = await sandbox('GET', '/clock');
    const { messageId } = await sandbox('POST', '/contacts/{phone}/messages', {
      params: { phone },
      body: { connectionId, ...content },
    });
    const bubble: Bubble = {
      id: messageId,
      isOwn: true,
      text: 'text' in content ? content.text : (content.media.caption ?? null),
      file: 'text' in content ? null : content.media.filename,
      at: now,
      kind: 'virtual',
      status: 'sent',
      note: 'Not delivered yet. Is the other phone off, or does it block this number?',
    };
    setWritten((all) => [...all, bubble]);
  };
  const bubblesOf = useCallback(
    (stored: readonly StoredMessage[], isWhole: boolean): readonly Bubble[] => {
      const ids = new Set(stored.map(({ id }) => id));
      const lost = unrecorded(received?.entries ?? [], stored, connectionId, isWhole).map(
        ({ messageId, text, media, at }): Bubble => ({
          id: messageId,
          isOwn: false,
          text: text ?? media?.caption ?? null,
          file: media?.filename ?? null,
          at,
          kind: 'virtual',
          note: 'Received, but the service has no record of it.',
        }),
      );
      return [...lost, ...written.filter(({ id }) => !ids.has(id))];
    },
    [received, written, connectionId],
  );
  return (
    <ChatView
      id={phone}
      q={`contact:${phone} connection:${connectionId}`}
      other={{ phone: connectionId, chat: phone }}
      name={name}
      isOwn={isIncoming}
      bubblesOf={bubblesOf}
      actions={(stored) => {
        const unread = stored.filter(
          ({ direction, status }) =>
            direction === 'outgoing' && (status === 'sent' || status === 'delivered'),
        );
        return unread.length === 0 ? null : (
          <Button action={read} input={unread}>
            Read {unread.length}
          </Button>
        );
      }}
    >
      <Failure error={read.error} />
      <Composer label={`Message to ${name}`} send={write} />
    </ChatView>
  );
}

const DELAYS = [
  ['deliverAfterMs', 'Delivered after'],
  ['readAfterMs', 'Read after'],
  ['failAfterMs', 'Fails after'],
] as const;

/** The behavior that a form gives: delays in seconds, and nothing for never. What is no number, the server refuses. */
function readBehavior(fields: FormData): PutContactRequest {
  const text = (name: string): string => String(fields.get(name)).trim();
  const read = (delay: string): number | string | null => {
    const ms = Math.round(Number(delay) * 1_000);
    return delay === '' ? null : Number.isNaN(ms) ? delay : ms;
  };
  const delays = DELAYS.map(([name]) => [name, read(text(name))]);
  return {
    onNetwork: fields.get('onNetwork') !== null,
    autoReply: text('autoReply') || null,
    ...Object.fromEntries(delays),
  };
}

/** How the person behaves, and a form that changes it. */
function Behavior({ phone }: { readonly phone: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useRead({
    queryKey: ['contacts', phone],
    queryFn: () => sandbox('GET', '/contacts/{phone}', { params: { phone } }),
  });
  const set = useAction({
    mutationFn: (body: PutContactRequest) => sandbox('PUT', '/contacts/{phone}', { params: { phone }, body }),
    onSuccess: (now) => {
      queries.setQueryData(['contacts', phone], now);
      setOpen(false);
    },
  });
  if (data === undefined) return null;
  return (
    <>
      <p className="line soft">
        {describeContact(data)}
        <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Change the behavior
        </Button>
      </p>
      {isOpen ? (
        <Form
          label="Behavior"
          ref={takeFocus}
          action={set}
          onSubmit={(fields) => set.mutate(readBehavior(fields))}
        >
          <label className="tick">
            <input type="checkbox" name="onNetwork" defaultChecked={data.onNetwork} />
            Has an account on the network
          </label>
          {DELAYS.map(([name, label]) => (
            <Field
              key={name}
              name={name}
              label={`${label}, in seconds`}
              hint="Empty: never"
              className="field"
              inputMode="decimal"
              defaultValue={data[name] === null ? '' : data[name] / 1_000}
            />
          ))}
          <Field
            name="autoReply"
            label="Replies to each message"
            hint="Empty: never"
            className="field wide"
            defaultValue={data.autoReply ?? ''}
          />
          <Submit kind="main">Save</Submit>
        </Form>
      ) : null}
    </>
  );
}
