import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Delivery } from '../../../contract/sandbox/deliveries.ts';
import type { EventType } from '../../../contract/service/events.ts';
import { sandbox } from '../../data/client.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/states.tsx';
import { readOwn } from './lane.tsx';
import { showSteps, useStepsShown } from './steps-shown.ts';

const CONTACT = '447700900201';

/** The events that show that a step was taken. */
const EVENTS = ['message.received', 'message.status', 'connection.connected'] as const satisfies EventType[];

/** What has been made already: the newest delivery of each event; and a number to begin with. */
async function readSteps() {
  const own = await readOwn();
  const newest = async (event: EventType): Promise<Delivery | undefined> =>
    (await sandbox('GET', '/deliveries', { query: { q: `type:${event} ${own}`.trim(), limit: '1' } }))
      .entries[0];
  const usable = { q: 'provider:qr status:connected !license:expired', limit: '1' };
  const [made, numbers] = await Promise.all([
    Promise.all(EVENTS.map(newest)),
    sandbox('GET', '/connections', { query: usable }),
  ]);
  return { made, number: numbers.entries[0] };
}

/** What to do first. Each step is ticked off by what it made, and leads there. */
export function FirstSteps() {
  const { data } = useRead({ queryKey: ['deliveries', 'first-steps'], queryFn: readSteps });
  const isShown = useStepsShown();
  const say = useAction({
    mutationFn: (connectionId: string) =>
      sandbox('POST', '/contacts/{phone}/messages', {
        params: { phone: CONTACT },
        body: { connectionId, text: 'Hello' },
      }),
  });
  if (!isShown || data === undefined) return null;
  const { number, made } = data;
  const [received, answered, paired] = made;
  const chat = { connection: received?.connectionId ?? number?.id, peer: CONTACT };
  return (
    <section aria-label="First steps">
      <header className="line">
        <h2>First steps</h2>
        <span className="faint">
          {made.filter((each) => each !== undefined).length} of {EVENTS.length} done
        </span>
        <Button kind="quiet" onClick={() => showSteps(false)}>
          Hide
        </Button>
      </header>
      <ol className="steps">
        <Step
          title="Have a contact write to one of your numbers"
          hint={
            number === undefined ? null : (
              <>
                The message reaches your webhook. In a terminal:{' '}
                <code className="command">
                  npm run sandbox -- say {number.phoneNumber} {CONTACT} Hello
                </code>
              </>
            )
          }
          made={received}
          links={[
            ['Delivery', { to: '/deliveries/$id', params: { id: received?.id } }],
            ['Journey', { to: '/journey/$id', params: { id: received?.messageId } }],
          ]}
        >
          {number === undefined ? null : (
            <Button kind="main" isPending={say.isPending} onClick={() => say.mutate(number.id)}>
              Say hello
            </Button>
          )}
        </Step>
        <Step
          title="Answer as the agent"
          hint="The inbox sends over the connector. Its ticks rise as the contact receives and reads the answer."
          made={answered}
          links={[
            ['Inbox', { to: '/inbox' }],
            ['Journey', { to: '/journey/$id', params: { id: answered?.messageId } }],
          ]}
        >
          <Link to="/inbox/$id" params={{ id: `${chat.connection}~${chat.peer}` }} className="button">
            Inbox
          </Link>
        </Step>
        <Step
          title="Link a number, as your users do"
          hint="Create a connection, and scan its QR code with the phone."
          made={paired}
          links={[['Connection', { to: '/connections/$id', params: { id: paired?.connectionId } }]]}
        >
          <Link to="/connections" className="button">
            Connections
          </Link>
        </Step>
      </ol>
      <Failure error={say.error} />
    </section>
  );
}

/** One step: how it is taken, or what it made. */
function Step({
  title,
  hint,
  made,
  links,
  children,
}: {
  readonly title: string;
  readonly hint: ReactNode;
  readonly made: Delivery | undefined;
  /** Where a step that was taken leads on. */
  readonly links: readonly (readonly [label: string, to: object])[];
  readonly children: ReactNode;
}) {
  return (
    <li>
      <div>
        <b>
          {made === undefined ? '' : <span className="good">✓ </span>}
          {title}
        </b>
        {made === undefined ? <p className="soft">{hint}</p> : null}
      </div>
      <span className="line">
        {made === undefined
          ? children
          : links.map(([label, to]) => (
              <Link key={label} {...(to as LinkProps)}>
                {label}
              </Link>
            ))}
      </span>
    </li>
  );
}
