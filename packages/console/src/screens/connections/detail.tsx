import { Link, useNavigate } from '@tanstack/react-router';
import type { OutageCause, ShownConnection } from '../../../../../src/contract/sandbox/connections.ts';
import { sandbox, service } from '../../data/client.ts';
import { connectionOf } from '../../data/connections.ts';
import { nameContact } from '../../data/numbers.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { About } from '../../ui/about.tsx';
import { Button } from '../../ui/button.tsx';
import { ConnectionState } from '../../ui/connection-state.tsx';
import { Confirmed, Menu, MenuButton } from '../../ui/menu.tsx';
import { Failure, Unread } from '../../ui/states.tsx';
import { showDateTime } from '../../ui/times.tsx';
import { StateDiagram } from './diagram.tsx';
import { License } from './license.tsx';
import { Pairing } from './pairing.tsx';
import { CAUSES, OUTAGES, stateOf } from './states.ts';

/** A connection: the state it is in and why, and everything that can be done to it. */
export function ConnectionDetail({ id }: { readonly id: string }) {
  const { data, error } = useRead(connectionOf(id));
  if (data === undefined) return <Unread error={error} label="Loading the connection" />;
  const q = `connection:${id}`;
  return (
    <div className="detail">
      <header>
        <div className="line">
          <ConnectionState connection={data} />
          <h1>
            <bdi>{data.label === '' ? 'Connection without a label' : data.label}</bdi>
          </h1>
        </div>
        <p className="soft">
          <span className="mono">
            {data.phoneNumber === null ? 'no number yet' : nameContact(data.phoneNumber)}
          </span>{' '}
          · {data.provider}
        </p>
        <Actions connection={data} />
        <nav className="line" aria-label="Of this connection">
          <Link to="/deliveries" search={{ q }}>
            Deliveries
          </Link>
          <Link to="/calls" search={{ q }}>
            Calls
          </Link>
          {data.provider === 'qr' ? (
            <Link to="/phone/$id" params={{ id }}>
              Phone
            </Link>
          ) : null}
        </nav>
      </header>
      <section aria-label="State">
        <h2>State</h2>
        {data.outage === null ? null : <Outage connection={data} cause={data.outage} />}
        <StateDiagram current={stateOf(data)} />
      </section>
      {data.provider === 'qr' && data.status !== 'connected' ? <Pairing connection={data} /> : null}
      <Transitions connection={data} />
      <License connection={data} />
      <Warmup connection={data} />
      <About
        facts={[
          ['Connection', id],
          ['Workspace', data.workspaceId],
          ['Pair again', data.needsReconnect ? 'yes' : 'no'],
          ['Phone', data.phone === null ? 'none' : data.phone.on ? 'on' : 'off'],
          ['Blocked', data.phone?.blocked.join(', ') || 'nobody'],
        ]}
      />
    </div>
  );
}

function Actions({ connection }: { readonly connection: ShownConnection }) {
  const { id, workspaceId, label, provider, outage, status } = connection;
  const navigate = useNavigate();
  const params = { id };
  const onService = { params, headers: { 'x-workspace-id': workspaceId } };
  // The stream says that the connection changed, and it is read again.
  const act = useAction({ mutationFn: (run: () => Promise<unknown>) => run() });
  const breakBy = (cause: OutageCause, heals: boolean) => () =>
    sandbox('POST', '/connections/{id}/outage', { params, body: { cause, heals } });
  const remove = async () => {
    await service('DELETE', '/connections/{id}', onService);
    await navigate({ to: '/connections', search: true });
  };
  return (
    <>
      <div className="line">
        {outage === null ? (
          <Menu label="Cause an outage" disabled={provider !== 'qr' || status !== 'connected'}>
            {(Object.keys(OUTAGES) as OutageCause[]).map((cause) => (
              <MenuButton key={cause} action={act} input={breakBy(cause, false)}>
                {OUTAGES[cause]}
              </MenuButton>
            ))}
            <MenuButton action={act} input={breakBy('session_ageing', true)}>
              Session ageing, heals by itself
            </MenuButton>
          </Menu>
        ) : (
          <Button
            kind="main"
            action={act}
            input={() => sandbox('POST', '/connections/{id}/recover', { params })}
          >
            Heal
          </Button>
        )}
        <Button action={act} input={() => service('POST', '/connections/{id}/restart', onService)}>
          Restart
        </Button>
        <Button action={act} input={() => service('POST', '/connections/{id}/logout', onService)}>
          Log out
        </Button>
        <Confirmed
          label="Delete"
          question={`Delete “${label}”? This cannot be undone: its id is retired, and its slot returns to the pool.`}
          action={act}
          input={remove}
        />
      </div>
      <Failure error={act.error} />
    </>
  );
}

function Outage({
  connection,
  cause,
}: {
  readonly connection: ShownConnection;
  readonly cause: OutageCause;
}) {
  const isFound = connection.status !== 'connected';
  const timers = useRead({
    queryKey: ['timers', 'outage', connection.id],
    enabled: !isFound,
    queryFn: async () => {
      const { entries } = await sandbox('GET', '/clock/due', { query: { limit: '1000' } });
      return entries.find(({ what, id }) => id === connection.id && what.startsWith('outage.')) ?? null;
    },
  });
  const next = timers.data ?? null;
  const advance = useAction({
    mutationFn: (to: string) => sandbox('POST', '/clock/advance', { body: { to } }),
  });
  return (
    <div className="note">
      <p>
        Outage: {OUTAGES[cause].toLowerCase()}.{' '}
        {isFound
          ? 'The service has found it and waits for the owner to pair again.'
          : 'The service still shows the connection as connected, until its status probe runs.'}
      </p>
      {next === null ? null : (
        <div className="line">
          <Button action={advance} input={next.at}>
            Move the time to then
          </Button>
          <span>
            {next.what === 'outage.healed' ? 'It heals at' : 'The probe runs at'} {showDateTime(next.at)}.
          </span>
        </div>
      )}
      <Failure error={advance.error} />
    </div>
  );
}

function Transitions({ connection: { id, transitions } }: { readonly connection: ShownConnection }) {
  return (
    <section aria-label="Transitions">
      <h2>Transitions, in virtual time</h2>
      {transitions.length === 0 ? <p className="soft">None was recorded.</p> : null}
      <ol className="transitions">
        {transitions.map(({ at, from, to, cause, reason, event }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the oldest has the number 0, whatever comes on top
          <li key={transitions.length - place}>
            <time dateTime={at}>{showDateTime(at)}</time>
            <span>
              {from === null ? '' : `${from} → `}
              <b>{to}</b>
            </span>
            <span className="soft">
              {CAUSES[cause]}
              {reason === null ? '' : ` (${reason})`}
              {event === null ? null : (
                <>
                  {', reported by '}
                  <Link to="/deliveries" search={{ q: `connection:${id} type:${event}` }} className="mono">
                    {event}
                  </Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Warmup({ connection: { warmup } }: { readonly connection: ShownConnection }) {
  if (warmup === null) return null;
  const { sentLastHour, perHour, stepEndsAt, endsAt } = warmup;
  const words = `${sentLastHour} of ${perHour} messages sent in the last hour`;
  return (
    <section aria-label="Warm-up">
      <h2>Warm-up</h2>
      <div className="line">
        <progress max={perHour} value={Math.min(sentLastHour, perHour)} aria-label={words} />
        <span>{words}</span>
      </div>
      <p className="faint">
        This limit applies until {showDateTime(stepEndsAt)}; the warm-up ends {showDateTime(endsAt)}.
      </p>
    </section>
  );
}
