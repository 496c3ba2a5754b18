import { Link, type LinkProps, useNavigate } from '@tanstack/react-router';
import Open from 'lucide-react/icons/circle';
import Done from 'lucide-react/icons/circle-check';
import type { ReactNode } from 'react';
import type { EventType } from '../../../../../src/contract/service/events.ts';
import { sandbox } from '../../data/client.ts';
import { CONTACT, writeAsContact } from '../../data/contact.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { SYNC_STATUS } from '../../data/sync-status.ts';
import { useAction } from '../../data/use-action.ts';
import { readOwn } from '../../data/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/states.tsx';
import { showSteps, useSeenSteps, useStepsShown } from './steps-shown.ts';

/** The newest delivery of the events that show that a step was taken, and a number to begin with. */
async function readSteps() {
  const own = await readOwn();
  const newest = async (event: EventType) =>
    (await sandbox('GET', '/deliveries', { query: { q: `type:${event} ${own}`.trim(), limit: '1' } }))
      .entries[0];
  const usable = { q: 'provider:qr status:connected !license:expired', limit: '1' };
  const [received, answered, numbers] = await Promise.all([
    newest('message.received'),
    newest('message.status'),
    sandbox('GET', '/connections', { query: usable }),
  ]);
  return { received, answered, number: numbers.entries[0] };
}

const FAULT = 'lose-one';
const ATTEMPTS = 3;

/** Writes a message, and loses all attempts of its webhook. `onWritten` receives its id before they are over. */
async function loseOne(connectionId: string, onWritten: (id: string) => void): Promise<void> {
  const match = { surface: 'webhook', event: 'message.received', connectionId } as const;
  await sandbox('POST', '/faults', {
    body: { id: FAULT, match, action: { type: 'drop' }, first: ATTEMPTS },
  });
  try {
    const { messageId } = await writeAsContact(connectionId, 'Can you hear me?');
    onWritten(messageId);
    await sandbox('POST', '/wait', {
      body: { list: 'deliveries', q: `message:${messageId} status:dropped` },
    });
  } finally {
    await sandbox('DELETE', '/faults/{id}', { params: { id: FAULT } });
  }
}

/** What to do first. Each step is ticked off by what it made, and leads there. */
export function FirstSteps() {
  const isShown = useStepsShown();
  const { data } = useRead({
    queryKey: ['deliveries', 'first-steps'],
    queryFn: readSteps,
    enabled: isShown,
  });
  const { data: synced } = useRead({ ...SYNC_STATUS, enabled: mode().connector });
  const seen = useSeenSteps();
  const navigate = useNavigate();
  const say = useAction({ mutationFn: (connectionId: string) => writeAsContact(connectionId, 'Hello') });
  const lose = useAction({
    mutationFn: (connectionId: string) =>
      loseOne(connectionId, (id) => void navigate({ to: '/journey/$id', params: { id } })),
  });
  if (!isShown || data === undefined) return null;
  const { number, received, answered } = data;
  const isRepaired =
    synced?.accounts.some(
      ({ repaired: { messages, statuses }, undecidedRepairs }) => messages + statuses + undecidedRepairs > 0,
    ) ?? false;
  const connectionId = received?.connectionId ?? number?.id;
  const delivery = { to: '/deliveries/$id', params: { id: received?.id } };
  const journey = { to: '/journey/$id', params: { id: received?.messageId } };
  const chat = { to: '/inbox/$id', params: { id: `${connectionId}~${CONTACT}` } };
  const steps: readonly StepProps[] = [
    {
      title: 'Say hello as a contact',
      hint:
        number === undefined ? null : (
          <>
            The message reaches your webhook. In a terminal:{' '}
            <code className="command">
              npm run sandbox -- say {number.phoneNumber} {CONTACT} Hello
            </code>
          </>
        ),
      isDone: received !== undefined,
      action:
        number === undefined ? null : (
          <Button kind="main" action={say} input={number.id}>
            Say hello
          </Button>
        ),
    },
    {
      title: 'See its delivery and its signature',
      hint: 'What was sent, what your server answered, and how it was signed.',
      isDone: seen.includes('delivery'),
      link: received === undefined ? undefined : ['Delivery', delivery],
    },
    {
      title: 'Follow its journey to the CRM',
      hint: 'Every step of one message, and the time between them.',
      isDone: seen.includes('journey'),
      link: received === undefined ? undefined : ['Journey', journey],
    },
    {
      title: 'Lose a webhook, and watch polling repair it',
      hint: 'All attempts of one webhook are dropped. The next poll finds its message.',
      isDone: isRepaired,
      action:
        connectionId === undefined ? null : (
          <Button action={lose} input={connectionId}>
            Lose one
          </Button>
        ),
    },
    {
      title: 'Answer as the agent',
      hint: 'Its ticks rise as the contact receives and reads the answer.',
      isDone: answered !== undefined,
      link: ['Inbox', chat],
    },
    {
      title: 'Connect your own program',
      hint: 'Copy the .env below into it, and have the webhook lead to it.',
      isDone: seen.includes('environment'),
      link: ['Webhook', { to: '/deliveries/$id', params: { id: 'webhook' } }],
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <section aria-label="First steps">
      <header className="line">
        <h2>First steps</h2>
        <span className="faint">
          {steps.filter(({ isDone }) => isDone).length} of {steps.length} done
        </span>
        <Button kind="quiet" onClick={() => showSteps(false)}>
          Hide
        </Button>
      </header>
      {next === -1 ? (
        <p className="soft">That is the whole loop. The help menu shows these steps again.</p>
      ) : null}
      <ol className="card rows steps">
        {steps.map((step, place) => (
          <Step key={step.title} {...step} isNext={place === next} />
        ))}
      </ol>
      <Failure error={say.error ?? lose.error} />
    </section>
  );
}

interface StepProps {
  readonly title: string;
  readonly hint: ReactNode;
  readonly isDone: boolean;
  /** How the step is taken. */
  readonly action?: ReactNode;
  /** Where it is taken, and where it leads once it was. */
  readonly link?: readonly [label: string, to: object] | undefined;
}

function Step({ title, hint, isDone, action, link, isNext }: StepProps & { readonly isNext: boolean }) {
  return (
    <li data-done={isDone} aria-current={isNext ? 'step' : undefined}>
      {isDone ? <Done /> : <Open />}
      <div>
        <b>
          {title}
          <span className="visually-hidden">{isDone ? ', done' : ''}</span>
        </b>
        {isNext ? <p className="soft">{hint}</p> : null}
      </div>
      {isDone ? null : action}
      {link === undefined ? null : <Link {...(link[1] as LinkProps)}>{link[0]}</Link>}
    </li>
  );
}
