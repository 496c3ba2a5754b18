import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { ConnectorAccount } from '../../../../../src/contract/connector/accounts.ts';
import type { DeadLetter } from '../../../../../src/contract/connector/changes.ts';
import type { AccountSync, SyncStatus } from '../../../../../src/contract/connector/sync.ts';
import { connector } from '../../data/client.ts';
import { useRealNow } from '../../data/clock.ts';
import { useNames } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { completeUntil, SYNC_STATUS } from '../../data/sync-status.ts';
import { useAction } from '../../data/use-action.ts';
import { Facts } from '../../ui/about.tsx';
import { AsOf, ReadSection } from '../../ui/as-of.tsx';
import { Bulk } from '../../ui/bulk.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { Figure } from '../../ui/figure.tsx';
import { JourneyLink } from '../../ui/journey-link.tsx';
import { NamedRow } from '../../ui/named.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { EmptyState, Failure, Unread } from '../../ui/states.tsx';
import { showDateTime, showSpan } from '../../ui/times.tsx';
import { CONSUMERS, Consumers } from './consumers.tsx';
import { Findings } from './findings.tsx';
import { PairAgain } from './pair-again.tsx';
import { Ago, HEALTH, LastPoll, readAgain } from './parts.tsx';
import { Sends } from './sends.tsx';
import './sync.css';

export function SyncScreen() {
  const { data, error, ...figure } = useRead({ ...SYNC_STATUS, enabled: mode().connector });
  const poll = useAction({
    mutationFn: () => connector('POST', '/v1/sync', { body: {} }),
    onSettled: readAgain,
  });
  if (!mode().connector)
    return (
      <EmptyState
        title="No connector is attached"
        hint="npm start runs the service with a connector. npm run platform runs the service alone."
      />
    );
  if (data === undefined) return <Unread error={error} label="Loading the state of synchronization" />;
  return (
    <div className="detail sync">
      <PageHead>
        <ReadOnly />
        <AsOf figures={[figure]} />
        <Button kind="main" disabled={!mode().write} action={poll}>
          {poll.isPending ? 'Polling' : 'Poll now'}
        </Button>
      </PageHead>
      <Failure error={poll.error} />
      {data.accounts.length === 0 ? (
        <EmptyState
          title="The connector has no account"
          hint="Add one with POST /v1/accounts, or set SERVICE_API_KEY."
        />
      ) : (
        <>
          <Tiles status={data} />
          <Findings />
          <PairAgain />
          {data.accounts.map((account) => (
            <Account key={account.accountId} account={account} />
          ))}
        </>
      )}
      <Consumers />
      <Letters />
      <Sends status={data} />
    </div>
  );
}

/** The three questions of this screen, over all accounts: what is covered, what was repaired, what waits. */
function Tiles({ status: { accounts, sends } }: { readonly status: SyncStatus }) {
  const now = useRealNow();
  const consumers = useRead(CONSUMERS).data?.consumers.map(({ lag }) => lag);
  const covered = accounts.map((account) => Date.parse(completeUntil(account) ?? '') || 0);
  const gaps = accounts.reduce((sum, { openGaps }) => sum + openGaps, 0);
  const count = (kind: 'messages' | 'statuses'): number =>
    accounts.reduce((sum, { repaired }) => sum + repaired[kind], 0);
  const since = (iso: string | null | undefined): number =>
    iso == null ? 0 : Math.max(0, now - Date.parse(iso));
  const most = (of: 'seconds' | 'changes') => Math.max(0, ...(consumers ?? []).map((lag) => lag[of]));
  const lag = Math.max(since(sends.oldestAt), most('seconds') * 1_000);
  const least = Math.min(...covered);
  const tiles = [
    [
      'Coverage',
      least === 0 ? undefined : showSpan(now - least),
      least === 0 ? 'no message polled yet' : 'ago, nothing is missing before',
      gaps > 0,
    ],
    [
      'Repaired',
      (count('messages') + count('statuses')).toLocaleString('en'),
      `${showCount(count('messages'), 'message')}, ${showCount(count('statuses'), 'status', 'statuses')} that webhooks lost`,
      false,
    ],
    [
      'Lag',
      consumers === undefined ? undefined : lag === 0 ? 'none' : showSpan(lag),
      `${consumers === undefined ? 'changes' : showCount(most('changes'), 'change')} and ${showCount(sends.waiting, 'send')} wait`,
      lag > LATE_MS,
    ],
  ] as const;
  return (
    <ul className="tiles" aria-label="Summary">
      {tiles.map(([name, value, words, isBad]) => (
        <li key={name} className="card" data-bad={isBad}>
          <div>
            <Figure name={name} value={value}>
              {words}
            </Figure>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** The doctor calls a consumer late that has not taken a change for so long. */
const LATE_MS = 300_000;

/** Why buttons are disabled. */
function ReadOnly() {
  if (mode().write) return null;
  return <span className="faint">Read only. Start the console with --write to change anything.</span>;
}

/** The credential of an account, its slots and its webhook. */
function ofCredential(account: ConnectorAccount): readonly (readonly [name: string, value: ReactNode])[] {
  const { kind, label, state, baseUrl, quota, webhookUrl, secretInDoubt, endingLicenses, reauth } = account;
  const slots = quota?.slots;
  return [
    [
      'Credential',
      <span key="c">
        <Chip tone={state === 'active' ? 'good' : state === 'webhook_only' ? 'plain' : 'bad'}>
          {state.replaceAll('_', ' ')}
        </Chip>{' '}
        {kind === 'oauth' ? 'OAuth grant' : 'API key'} <bdi>{label}</bdi> {reauth?.reason}
      </span>,
    ],
    ['Service', baseUrl ?? 'never called'],
    [
      'Webhook',
      `${webhookUrl ?? 'not registered by this connector'}${secretInDoubt ? ', secret in doubt' : ''}`,
    ],
    ['Slots', slots === undefined ? 'not read yet' : `${slots.used} of ${slots.total} used`],
    ['Licenses that end soon', endingLicenses.length],
  ];
}

function Account({ account }: { readonly account: AccountSync }) {
  const { data: accounts } = useRead({
    queryKey: ['connector', 'accounts'],
    queryFn: () => connector('GET', '/v1/accounts', { query: { limit: '1000' } }),
  });
  const nameOf = useNames();
  const credential = accounts?.accounts.find(({ id }) => id === account.accountId);
  const { accountId, coveredUntil, oldestOpenStatus, repaired, webhookHealth } = account;
  const connections = account.connections.toSorted((one, other) =>
    nameOf(one.connectionId).localeCompare(nameOf(other.connectionId)),
  );
  return (
    <section aria-label={`Account ${accountId}`}>
      <div className="line">
        <h2>
          Account <bdi className="mono">{accountId}</bdi>
        </h2>
        <Chip tone={HEALTH[webhookHealth]}>webhooks {webhookHealth}</Chip>
        {account.reauthRequired ? <Chip tone="bad">new consent required</Chip> : null}
      </div>
      <Facts
        facts={[
          ...(credential === undefined ? [] : ofCredential(credential)),
          [
            'Nothing missing until',
            <Ago key="c" iso={completeUntil(account)} none="no message polled yet" />,
          ],
          ['Last poll', <LastPoll key="p" {...account} />],
          ['Last success', <Ago key="g" iso={account.lastGoodPollAt} none="none yet" />],
          ['Last webhook', <Ago key="w" iso={account.lastWebhookAt} none="none yet" />],
          [
            'Oldest open status',
            oldestOpenStatus === null ? (
              'none'
            ) : (
              <span key="o">
                <Ago iso={oldestOpenStatus.createdAt} none="" />{' '}
                <JourneyLink id={oldestOpenStatus.messageId} />
              </span>
            ),
          ],
          [
            'Repaired by polling',
            `${showCount(repaired.messages, 'message')}, ${showCount(repaired.statuses, 'status', 'statuses')}${
              account.undecidedRepairs === 0
                ? ''
                : `; ${account.undecidedRepairs} more unless a webhook still arrives`
            }`,
          ],
          ['Open gaps', account.openGaps],
          ['No longer checked', `${account.unresolvedStatuses} statuses older than seven days`],
          ['Read and failed', showCount(account.statusConflicts, 'message')],
        ]}
      />
      <ul className="sync-rows" aria-label="Connections">
        {connections.map(({ connectionId, coveredUntil: covered, repaired: own, ...each }) => (
          <NamedRow key={connectionId} id={`connection-${connectionId}`}>
            {mode().mode === 'sandbox' ? (
              <Link to="/connections/$id" params={{ id: connectionId }} title={connectionId}>
                <bdi>{nameOf(connectionId)}</bdi>
              </Link>
            ) : (
              <bdi title={connectionId}>{nameOf(connectionId)}</bdi>
            )}
            <Chip tone={HEALTH[each.webhookHealth]}>{each.webhookHealth}</Chip>
            <span className="soft">
              {own.messages + own.statuses === 0
                ? 'nothing repaired'
                : `${showCount(own.messages, 'message')} and ${showCount(own.statuses, 'status', 'statuses')} repaired`}
            </span>
            <span className="faint">
              {covered === coveredUntil ? '' : 'behind: '}
              {covered === null ? 'no message polled yet' : `covered until ${showDateTime(covered)}`}
            </span>
          </NamedRow>
        ))}
      </ul>
    </section>
  );
}

const LETTER_FILTERS = ['consumer', 'connection', 'error'] as const;
const ANY = 'any';

const valuesOf = ({ consumer, change, lastError }: DeadLetter) => ({
  consumer,
  connection: change.connectionId,
  error: lastError,
});

/** Changes that the handler failed to process. A replayed one comes back if the handler fails again. */
function Letters() {
  const nameOf = useNames();
  const [filter, setFilter] = useState<Partial<Record<(typeof LETTER_FILTERS)[number], string>>>({});
  const { data, error, ...figure } = useRead({
    queryKey: ['sync', 'letters'],
    queryFn: () => connector('GET', '/v1/dead-letters', { query: { limit: '1000' } }),
  });
  const replay = (id: string) => connector('POST', '/v1/dead-letters/{id}/replay', { params: { id } });
  const one = useAction({ mutationFn: replay, onSettled: readAgain });
  const all = data?.deadLetters ?? [];
  /** A value that no letter has any more would hide all others. */
  const chosen = (key: (typeof LETTER_FILTERS)[number]): string =>
    all.map((letter) => valuesOf(letter)[key]).find((value) => value === filter[key]) ?? ANY;
  const letters = all.filter((letter) =>
    LETTER_FILTERS.every((key) => [ANY, valuesOf(letter)[key]].includes(chosen(key))),
  );
  const count = letters.length;
  return (
    <ReadSection id="letters" label="Dead letters" figures={[figure]} error={error}>
      <Failure error={one.error} />
      {data !== undefined && all.length === 0 ? (
        <p className="faint">None. A change that the handler fails to process is set aside here.</p>
      ) : null}
      <div className="line">
        {all.length < 2
          ? null
          : LETTER_FILTERS.map((key) => (
              <label key={key} className="line">
                <span className="faint">{key}</span>
                <select
                  className="field"
                  value={chosen(key)}
                  onChange={({ target }) => setFilter({ ...filter, [key]: target.value })}
                >
                  {[ANY, ...new Set(all.map((letter) => valuesOf(letter)[key]))].map((value) => (
                    <option key={value} value={value}>
                      {key === 'connection' ? nameOf(value) : value}
                    </option>
                  ))}
                </select>
              </label>
            ))}
        <Bulk
          label={count === 1 ? 'Replay it' : `Replay all ${count}`}
          question={`The handler is called again with ${showCount(count, 'change')}, oldest first.`}
          count={count}
          isDisabled={!mode().write}
          isBusy={one.isPending}
          items={() => letters.map(({ id }) => id).toReversed()}
          act={replay}
          onEnd={readAgain}
        />
        {data?.hasMore === true ? <span className="faint">More follow when these are gone.</span> : null}
        {count === 0 ? null : <ReadOnly />}
      </div>
      <ul className="sync-rows" aria-label="Dead letters">
        {letters.map((letter) => (
          <Letter key={letter.id} letter={letter} name={nameOf(letter.change.connectionId)}>
            <Button disabled={!mode().write} action={one} input={letter.id}>
              Replay
            </Button>
          </Letter>
        ))}
      </ul>
    </ReadSection>
  );
}

function Letter({
  letter,
  name,
  children,
}: {
  readonly letter: DeadLetter;
  readonly name: string;
  readonly children: ReactNode;
}) {
  const { id, change, attempts, lastError, at } = letter;
  return (
    <NamedRow id={`letter-${id}`}>
      <span className="mono">
        {change.seq} {change.type} <bdi title={change.connectionId}>{name}</bdi>
      </span>
      <bdi className="bad">{lastError}</bdi>
      <span className="soft">
        {showCount(attempts, 'call')} · {showDateTime(at)}
      </span>
      <span className="line">
        {children}
        <JourneyLink id={'messageId' in change ? change.messageId : undefined} />
      </span>
    </NamedRow>
  );
}
