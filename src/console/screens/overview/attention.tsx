import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { connector, sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Failure, ReadFailure } from '../../ui/states.tsx';
import {
  CONNECTION_CONCERNS,
  type Concern,
  connectionConcern,
  connectorConcerns,
  laneConcerns,
} from './concerns.ts';
import { counts, webhooks } from './lane.tsx';

/** Maximum number of connections that are named; the list has all of them. */
const FEW = '6';

async function readConnectionConcerns(): Promise<readonly Concern[]> {
  const read = async (kind: (typeof CONNECTION_CONCERNS)[number]): Promise<Concern | null> =>
    connectionConcern(kind, await sandbox('GET', '/connections', { query: { q: kind.q, limit: FEW } }));
  return (await Promise.all(CONNECTION_CONCERNS.map(read))).filter((concern) => concern !== null);
}

/** What waits for a person, the gravest first; if nothing has happened yet, what to do next. */
export function Attention() {
  const isSandbox = mode().mode === 'sandbox';
  const hasConnector = mode().connector;
  const connections = useQuery({
    queryKey: ['connections', 'concerns'],
    queryFn: readConnectionConcerns,
    enabled: isSandbox,
  });
  const total = useQuery({ ...counts(), enabled: isSandbox });
  const registered = useQuery({ ...webhooks(), enabled: isSandbox });
  const faults = useQuery({
    queryKey: ['faults'],
    queryFn: () => sandbox('GET', '/faults'),
    enabled: isSandbox,
  });
  const clock = useQuery({
    queryKey: ['clock', 'frozen'],
    queryFn: async () => (await sandbox('GET', '/clock')).frozen,
    enabled: isSandbox,
  });
  const synced = useQuery({ ...syncStatus(), enabled: hasConnector });
  const ofConnector = useQuery({
    queryKey: ['connector', 'concerns'],
    enabled: hasConnector,
    queryFn: async () => {
      const [{ accounts }, letters] = await Promise.all([
        connector('GET', '/v1/accounts', { query: { limit: '100' } }),
        connector('GET', '/v1/dead-letters', { query: { limit: '100' } }),
      ]);
      return { accounts, deadLetters: { count: letters.deadLetters.length, hasMore: letters.hasMore } };
    },
  });
  const clear = useAction({ mutationFn: () => sandbox('DELETE', '/faults') });

  const error = connections.error ?? total.error ?? registered.error ?? ofConnector.error ?? synced.error;
  const hasLane =
    total.data !== undefined &&
    registered.data !== undefined &&
    faults.data !== undefined &&
    clock.data !== undefined;
  const concerns = [
    ...(connections.data ?? []),
    ...(ofConnector.data === undefined || synced.data === undefined
      ? []
      : connectorConcerns({ ...ofConnector.data, sync: synced.data })),
    ...(hasLane
      ? laneConcerns({
          webhooks: registered.data,
          held: total.data.held,
          faults: faults.data,
          isFrozen: clock.data,
        })
      : []),
  ].toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
  const isRead = !isSandbox || (hasLane && connections.data !== undefined);
  const isNew =
    total.data !== undefined && total.data.pending + total.data.delivered + total.data.dropped === 0;
  return (
    <>
      {isNew ? <FirstSteps /> : null}
      <section aria-label="Needs attention">
        <h2>Needs attention</h2>
        <ReadFailure error={error} />
        {concerns.length === 0 && isRead ? (
          <p className="soft">Nothing. Every number works, and every webhook accepts its deliveries.</p>
        ) : null}
        {concerns.length === 0 ? null : (
          <ul className="concerns">
            {concerns.map((concern) => (
              <li key={`${concern.title} ${concern.hint}`} data-tone={concern.tone}>
                <div>
                  <bdi>
                    {concern.to === null ? (
                      <b>{concern.title}</b>
                    ) : (
                      <Link to={concern.to} search={concern.q === undefined ? {} : { q: concern.q }}>
                        {concern.title}
                      </Link>
                    )}
                  </bdi>
                  <p className="soft">
                    <bdi>{concern.hint}</bdi>
                  </p>
                </div>
                {concern.remedy === 'remove_faults' ? <Button action={clear}>Remove all</Button> : null}
              </li>
            ))}
          </ul>
        )}
        <Failure error={clear.error} />
      </section>
    </>
  );
}

const CONTACT = '447700900201';

/** What to do while nothing has happened yet. */
function FirstSteps() {
  const { data: number } = useQuery({
    queryKey: ['connections', 'first'],
    queryFn: async () => {
      const query = { q: 'provider:qr status:connected !license:expired', limit: '1' };
      return (await sandbox('GET', '/connections', { query })).entries[0] ?? null;
    },
  });
  const say = useAction({
    mutationFn: (connectionId: string) =>
      sandbox('POST', '/contacts/{phone}/messages', {
        params: { phone: CONTACT },
        body: { connectionId, text: 'Hello' },
      }),
  });
  return (
    <section aria-label="First steps">
      <h2>First steps</h2>
      <ol className="steps">
        {number === null || number === undefined ? null : (
          <li>
            <div>
              <b>Have a contact write to one of your numbers</b>
              <p className="soft">
                The message reaches your webhook, and its delivery appears under Deliveries. In a terminal:{' '}
                <code className="command">
                  npm run sandbox -- say {number.phoneNumber} {CONTACT} Hello
                </code>
              </p>
            </div>
            <Button kind="main" isPending={say.isPending} onClick={() => say.mutate(number.id)}>
              Say hello
            </Button>
          </li>
        )}
        <li>
          <div>
            <b>Link a number, as your users do</b>
            <p className="soft">Create a connection, and scan its QR code with the phone.</p>
          </div>
          <Link to="/connections" className="button">
            Connections
          </Link>
        </li>
      </ol>
      <Failure error={say.error} />
    </section>
  );
}
