import { Link } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import type {
  Delivery,
  DeliveryAttempt,
  ResendRequest,
} from '../../../../../src/contract/sandbox/deliveries.ts';
import { SANDBOX_PREFIX, sandbox, shapeRequest } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { About, Facts } from '../../ui/about.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { CodeView } from '../../ui/code.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { JourneyLink } from '../../ui/journey-link.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Menu, MenuButton } from '../../ui/menu.tsx';
import { Failure, Unread } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime, showDuration, Time } from '../../ui/times.tsx';
import { EditCopy } from './copy.tsx';
import { outcomeOf, REASONS } from './describe.ts';
import { groupAttempts, resultOf, type Series } from './series.ts';
import { Signature } from './signature.tsx';
import { Axis, Waterfall } from './waterfall.tsx';

const RESEND = '/deliveries/{id}/resend';

/** A delivery: what was sent, how each attempt went, and what can be done with it. */
export function DeliveryDetail({ id }: { readonly id: string }) {
  const { data, error } = useRead({
    queryKey: ['deliveries', id],
    queryFn: () => sandbox('GET', '/deliveries/{id}', { params: { id } }),
  });
  if (data === undefined) return <Unread error={error} label="Loading the delivery" />;
  const { word, tone } = outcomeOf(data);
  const { reason } = data;
  const series = groupAttempts(data.createdAt, data.attempts);
  return (
    <div className="detail">
      <header>
        <div className="line">
          <Chip tone={tone}>{word}</Chip>
          <h1 className="mono">{data.event}</h1>
          {data.copyOf === undefined ? null : (
            <Link to="/deliveries/$id" params={{ id: data.copyOf }} search={true} className="chip warn">
              copy of {data.copyOf}
            </Link>
          )}
        </div>
        <p className="soft">
          {showDateTime(data.createdAt)} · {data.attempts.length}{' '}
          {data.attempts.length === 1 ? 'attempt' : 'attempts'}
        </p>
        <Actions delivery={data} />
      </header>
      {reason === undefined ? null : <p className="note">{REASONS[reason]}</p>}
      <section aria-label="Attempts">
        <h2>Attempts</h2>
        {series.length === 0 ? <p className="soft">None yet.</p> : null}
        {series.map((each) => (
          <SeriesView key={each.at} series={each} isFirst={each === series[0]} />
        ))}
      </section>
      <Request delivery={data} />
      <Signature delivery={data} />
      <AboutDelivery delivery={data} />
    </div>
  );
}

function Actions({ delivery }: { readonly delivery: Delivery }) {
  const { id, outcome, held } = delivery;
  const [isEditing, setEditing] = useState(false);
  const store = (changed: Delivery): void => void queries.setQueryData(['deliveries', id], changed);
  const resend = useAction({
    mutationFn: (body: ResendRequest) => sandbox('POST', RESEND, { params: { id }, body }),
    onSuccess: store,
  });
  const hold = useAction({
    mutationFn: () =>
      sandbox('POST', held === true ? '/deliveries/{id}/release' : '/deliveries/{id}/hold', {
        params: { id },
      }),
    onSuccess: store,
  });
  const question = useRef<HTMLDivElement>(null);
  const ask = (): void => {
    question.current?.showPopover();
    takeFocus(question.current);
  };
  useKeys('Delivery', [
    { keys: 'r', label: 'Resend the same bytes, after a question', run: ask },
    { keys: 'e', label: 'Edit a copy and send it', run: () => setEditing(true) },
  ]);
  const more: readonly (readonly [string, ResendRequest])[] = [
    ['Sign again and send', { resign: true }],
    ['Send 5 copies', { times: 5 }],
    ['Tamper with the body', { tamper: 'body' }],
    ['Tamper with the signature', { tamper: 'signature' }],
    ['Tamper with the timestamp', { tamper: 'timestamp' }],
  ];
  return (
    <>
      <div className="line">
        <Button kind="main" action={resend} input={{}}>
          Resend
        </Button>
        <div ref={question} popover="auto" className="menu confirm">
          <p>The webhook receives the same bytes again.</p>
          <MenuButton action={resend} input={{}}>
            Resend now
          </MenuButton>
        </div>
        <Menu label="Resend as …">
          {more.map(([label, body]) => (
            <MenuButton key={label} action={resend} input={body}>
              {label}
            </MenuButton>
          ))}
        </Menu>
        <Button aria-expanded={isEditing} aria-keyshortcuts="e" onClick={() => setEditing(!isEditing)}>
          Edit and send
        </Button>
        {outcome === 'pending' ? <Button action={hold}>{held === true ? 'Release' : 'Hold'}</Button> : null}
        <CopyAs
          request={shapeRequest(SANDBOX_PREFIX, 'POST', RESEND, { params: { id }, body: {} })}
          items={[{ label: 'raw body', text: delivery.body }]}
        />
      </div>
      {isEditing ? <EditCopy delivery={delivery} onClose={() => setEditing(false)} /> : null}
      <Failure error={resend.error} />
      <Failure error={hold.error} />
    </>
  );
}

/** A little air after the last mark. */
const AXIS_SHARE = 1.15;
const SHORTEST_AXIS_MS = 1_800;

function SeriesView({ series, isFirst }: { readonly series: Series; readonly isFirst: boolean }) {
  const end = Math.max(...series.attempts.map(({ to }) => to));
  const axis = Math.max(SHORTEST_AXIS_MS, end * AXIS_SHARE);
  return (
    <div className="series">
      {isFirst ? null : <p className="faint">Sent again at {showDateTime(series.at)}</p>}
      <div className="series-grid">
        <span />
        <Axis axis={axis} />
        <span />
        {series.attempts.map((placed) => (
          <div key={placed.number} className="contents">
            <span className="faint">#{placed.number}</span>
            <Waterfall series={{ ...series, attempts: [placed] }} axis={axis} />
            <span className={resultOf(placed.attempt)}>
              {placed.attempt.status ?? (resultOf(placed.attempt) === 'open' ? 'in flight' : 'no answer')} ·{' '}
              {showDuration(placed.attempt.ms)}
            </span>
            <SeriesNote attempt={placed.attempt} />
            <ResponseNote attempt={placed.attempt} />
          </div>
        ))}
      </div>
    </div>
  );
}

function SeriesNote({ attempt: { error, faults } }: { readonly attempt: DeliveryAttempt }) {
  if (error === undefined && faults === undefined) return null;
  return (
    <p className="series-note">
      {error}
      {faults === undefined ? null : <span className="faint"> by the fault {faults.join(', ')}</span>}
    </p>
  );
}

/** What the receiver answered, opened by itself if the attempt failed. */
function ResponseNote({ attempt }: { readonly attempt: DeliveryAttempt }) {
  const { response } = attempt;
  if (response === undefined) return null;
  const headers = Object.entries(response.headers);
  return (
    <details className="series-note" open={resultOf(attempt) === 'bad'}>
      <summary>Response</summary>
      <Facts facts={headers} valueClass="mono" />
      {response.body === '' ? null : <CodeView text={response.body} label="Response body" />}
    </details>
  );
}

function Request({ delivery: { url, reason, headers, body } }: { readonly delivery: Delivery }) {
  const lines = Object.entries(headers);
  const unsent = reason === 'no_webhook' ? 'No webhook was set' : 'POST to the webhook URL at that time';
  return (
    <section aria-label="Request">
      <h2>Request</h2>
      <p className="mono">{url === null ? unsent : `POST ${url}`}</p>
      {lines.length === 0 ? (
        <p className="soft">It has no headers before its first attempt.</p>
      ) : (
        <Facts facts={lines} valueClass="mono" />
      )}
      <CodeView text={body} label="Body" />
    </section>
  );
}

/** Leads to everything with the same token. */
function Filter({ token }: { readonly token: string }) {
  return (
    <Link to="/deliveries" search={{ q: token }} title="Show all deliveries of it">
      {token.slice(token.indexOf(':') + 1)}
    </Link>
  );
}

function AboutDelivery({ delivery }: { readonly delivery: Delivery }) {
  const { id, connectionId, messageId, subscription, workspaceId, createdAt } = delivery;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Delivery', id],
    ['Created', <Time key="t" iso={createdAt} kind="real" />],
    [
      'Message',
      messageId === null ? (
        '–'
      ) : (
        <span key="m">
          <Filter token={`message:${messageId}`} /> <JourneyLink id={messageId} />
        </span>
      ),
    ],
    ['Connection', <Filter key="c" token={`connection:${connectionId}`} />],
    ['Workspace', workspaceId],
    ['Webhook of', `${subscription.kind} ${subscription.id}`],
  ];
  return <About facts={facts} />;
}
