import { keepPreviousData } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { MessageStatus } from '../../../../../src/contract/service/statuses.ts';
import { connector, ifKnown, sandbox } from '../../data/client.ts';
import { useNames } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { nameContact } from '../../data/numbers.ts';
import { useRead } from '../../data/read.ts';
import { Facts } from '../../ui/about.tsx';
import { Chip, Ticks } from '../../ui/chip.tsx';
import { Folded } from '../../ui/folded.tsx';
import { useKeys } from '../../ui/keys.ts';
import { EmptyState, Loading, ReadFailure } from '../../ui/states.tsx';
import { buildJourney } from './journey.ts';
import { Start } from './start.tsx';
import { Steps } from './steps.tsx';
import '../../ui/screen.css';
import './journey.css';

export function JourneyScreen() {
  const { id } = useParams({ strict: false });
  return id === undefined ? <Start /> : <JourneyOf key={id} id={id} />;
}

const MOST = '100';

/** Everything that is known about a message. It is read again as the stream names its lists. */
function useFacts(id: string) {
  const { mode: world, connector: hasConnector } = mode();
  const inSandbox = world === 'sandbox';
  const query = { q: `message:${id}`, limit: MOST };
  const deliveries = useRead({
    queryKey: ['deliveries', 'journey', id],
    queryFn: () => sandbox('GET', '/deliveries', { query }),
    enabled: inSandbox,
  });
  const calls = useRead({
    queryKey: ['calls', 'journey', id],
    queryFn: () => sandbox('GET', '/calls', { query }),
    enabled: inSandbox,
  });
  const stored = useRead({
    queryKey: ['messages', 'journey', id],
    queryFn: () => sandbox('GET', '/messages', { query }),
    enabled: inSandbox,
  });
  // A delivery that changes nothing shows in the trace, but not in the feed of the connector.
  const attempts = deliveries.data?.entries.map((each) => each.attempts.length).join();
  const ofConnector = useRead({
    queryKey: ['connector', 'journey', id, attempts],
    queryFn: async () => {
      const params = { id };
      const [trace, letters] = await Promise.all([
        ifKnown(connector('GET', '/v1/messages/{id}/trace', { params })),
        connector('GET', '/v1/dead-letters', { query: { limit: '1000' } }),
      ]);
      const isStored = trace !== null && trace.message !== null;
      const message = isStored ? await connector('GET', '/v1/messages/{id}', { params }) : null;
      return { trace, message, letters: letters.deadLetters };
    },
    enabled: hasConnector,
    placeholderData: keepPreviousData,
  });
  const all = [deliveries, calls, stored, ofConnector];
  return {
    isLoading: all.some((each) => each.isLoading),
    error: all.find((each) => each.error !== null)?.error ?? null,
    message: ofConnector.data?.message ?? undefined,
    facts: {
      deliveries: deliveries.data?.entries,
      calls: calls.data?.entries,
      stored: stored.data?.entries[0],
      trace: ofConnector.data?.trace ?? undefined,
      letters: ofConnector.data?.letters,
    },
  };
}

function JourneyOf({ id }: { readonly id: string }) {
  const navigate = useNavigate();
  const back = (): void => void navigate({ to: '/journey', search: true });
  useKeys('Detail', [{ keys: 'Escape', label: 'Back to the messages', run: back }]);
  const { isLoading, error, message, facts } = useFacts(id);
  const nameOf = useNames();
  if (error !== null) return <ReadFailure error={error} />;
  if (isLoading) return <Loading label="Loading the journey" />;
  const journey = buildJourney(facts);
  const { stored, trace } = facts;
  if (journey.steps.length === 0)
    return (
      <EmptyState
        title="Nothing is known about this message"
        hint={
          <>
            <span className="mono">{id}</span> is the id of no message, or its traces have been deleted.
          </>
        }
        action={<Link to="/journey">Follow another message</Link>}
      />
    );
  const connectionId = message?.connectionId ?? stored?.connectionId;
  const peer = message?.peer ?? stored?.peer;
  const direction = message?.direction ?? stored?.direction ?? trace?.message?.direction;
  const isOutgoing = direction === 'outgoing';
  const text = message?.text ?? stored?.text ?? message?.mediaType ?? stored?.mediaType;
  return (
    <div className="detail journey">
      <header>
        <div className="line">
          {direction === undefined ? null : <Chip>{direction}</Chip>}
          <h1>
            <Folded text={text ?? 'A message without text'} />
          </h1>
        </div>
        <p className="soft">
          <Link to="/journey" search={true}>
            Messages
          </Link>{' '}
          › <span className="mono">{id}</span>
          {peer === undefined || peer === null
            ? ''
            : ` · ${direction === 'incoming' ? 'written by' : 'sent to'} ${nameContact(peer)}`}
          {connectionId === undefined ? '' : ` · ${nameOf(connectionId)}`}
        </p>
        <p className="line">
          {connectionId === undefined || message === undefined ? null : (
            <Link to="/inbox/$id" params={{ id: `${connectionId}~${message.peer ?? ''}` }}>
              Inbox
            </Link>
          )}
          {mode().mode === 'sandbox' ? (
            <>
              <Link to="/deliveries" search={{ q: `message:${id}` }}>
                Deliveries
              </Link>
              <Link to="/calls" search={{ q: `message:${id}` }}>
                Calls
              </Link>
            </>
          ) : null}
          <Link to="/sync">Sync</Link>
        </p>
      </header>
      <section aria-label="Summary">
        <h2>Summary</h2>
        <ul className="journey-findings">
          {journey.findings.map(({ tone, text: words }) => (
            <li key={words} data-tone={tone}>
              {words}
            </li>
          ))}
        </ul>
        <Facts
          facts={[
            ...(mode().mode === 'sandbox'
              ? [['At the service', <State key="s" status={stored?.status} {...{ isOutgoing }} />] as const]
              : []),
            [
              'At the connector',
              <State
                key="c"
                isOutgoing={isOutgoing}
                status={
                  trace?.message === null ? undefined : (trace?.message?.status ?? (trace && 'received'))
                }
              />,
            ],
          ]}
        />
      </section>
      <Steps journey={journey} />
    </div>
  );
}

function State({
  status,
  isOutgoing,
}: {
  readonly isOutgoing: boolean;
  readonly status: MessageStatus | 'received' | undefined;
}) {
  if (status === undefined || status === 'received' || !isOutgoing) return status ?? 'unknown';
  return (
    <>
      {status} <Ticks status={status} />
    </>
  );
}
