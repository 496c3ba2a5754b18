import { getRouteApi, Link } from '@tanstack/react-router';
import type { OwnerPhoneRequest, ShownConnection } from '../../../../../src/contract/sandbox/connections.ts';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';
import { sandbox } from '../../data/client.ts';
import { connectionOf } from '../../data/connections.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { ConnectionState } from '../../ui/connection-state.tsx';
import { EmptyState, Failure, Unread } from '../../ui/states.tsx';
import { ChatList, ChatView, Handset } from './handset.tsx';
import { LinkDevice } from './link-device.tsx';

const route = getRouteApi('/phone');

const isOutgoing = ({ direction }: StoredMessage): boolean => direction === 'outgoing';
const peerOf = ({ peer }: StoredMessage): string => peer;
const showNumber = (phone: string): string => `+${phone}`;

export function DevicePhone({ id }: { readonly id: string }) {
  const { with: other } = route.useSearch();
  const { data, error } = useRead(connectionOf(id));
  const set = useAction({
    mutationFn: (body: OwnerPhoneRequest) =>
      sandbox('POST', '/connections/{id}/phone', { params: { id }, body }),
    onSuccess: (phone) =>
      queries.setQueryData<ShownConnection>(
        connectionOf(id).queryKey,
        (before) => before && { ...before, phone },
      ),
  });
  if (data === undefined) return <Unread error={error} label="Loading the phone" />;
  const { phone, label, phoneNumber } = data;
  const isOn = phone?.on ?? true;
  const blocked = phone?.blocked ?? [];
  return (
    <div className="phone">
      <header>
        <h1>
          <bdi>{label || (phoneNumber ?? id)}</bdi>
        </h1>
        <div className="line">
          <ConnectionState connection={data} />
          {phone === null ? null : (
            <Button action={set} input={{ on: !isOn }}>
              {isOn ? 'Switch off' : 'Switch on'}
            </Button>
          )}
        </div>
        <Failure error={set.error} />
      </header>
      <Handset name={phoneNumber === null ? 'Not linked' : showNumber(phoneNumber)}>
        {!isOn ? (
          <EmptyState
            title="This phone is off"
            hint="After a while the service reports the connection as disconnected. Messages of contacts wait until the phone is on."
          />
        ) : data.provider === 'qr' && data.status !== 'connected' ? (
          <LinkDevice connection={data} />
        ) : other === undefined ? (
          <ChatList
            id={id}
            q={`connection:${id}`}
            otherOf={peerOf}
            nameOf={showNumber}
            empty={
              <EmptyState title="No chats yet" hint="Open the phone of a contact and write to this number." />
            }
          />
        ) : (
          <ChatView
            key={other}
            id={id}
            q={`connection:${id} contact:${other}`}
            other={{ phone: other, chat: id }}
            name={showNumber(other)}
            isOwn={isOutgoing}
            actions={() =>
              phone === null ? null : (
                <Button
                  action={set}
                  input={{
                    blocked: blocked.includes(other)
                      ? blocked.filter((each) => each !== other)
                      : [...blocked, other],
                  }}
                >
                  {blocked.includes(other) ? 'Unblock' : 'Block'}
                </Button>
              )
            }
          >
            <p className="chat-hint soft">
              {blocked.includes(other) ? (
                'This contact is blocked: what it writes never arrives.'
              ) : (
                <>
                  The agent answers in the{' '}
                  <Link to="/inbox/$id" params={{ id: `${id}~${other}` }}>
                    inbox
                  </Link>
                  , the contact on{' '}
                  <Link to="/phone/$id" params={{ id: other }} search={{ list: 'contacts', with: id }}>
                    its own phone
                  </Link>
                  .
                </>
              )}
            </p>
          </ChatView>
        )}
      </Handset>
    </div>
  );
}
