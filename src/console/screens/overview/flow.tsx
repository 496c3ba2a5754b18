import { Link, type LinkProps } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import CrmIcon from 'lucide-react/icons/building-2';
import ConnectorIcon from 'lucide-react/icons/database';
import RepairIcon from 'lucide-react/icons/refresh-cw';
import ServiceIcon from 'lucide-react/icons/server';
import PhoneIcon from 'lucide-react/icons/smartphone';
import WebhookIcon from 'lucide-react/icons/webhook';
import { useRealNow } from '../../data/clock.ts';
import { mode } from '../../data/live.ts';
import { useReading } from '../../data/read.ts';
import { AsOf } from '../../ui/as-of.tsx';
import { showCount } from '../../ui/count.ts';
import { showDuration, showSpan } from '../../ui/times.tsx';
import { type Hour, hourOf } from './hour.ts';
import { Spark } from './spark.tsx';
import { useFlow } from './use-flow.ts';

/** The way of a message with its live figures: five stations, and between them the last hour. */
export function Flow() {
  const now = useRealNow();
  const { deliveries, changes, totals, numbers, synced, webhooks, figures } = useFlow();
  const { isCurrent } = useReading(figures);
  const isSandbox = mode().mode === 'sandbox';
  const written = new Set<string | null>();
  const received = deliveries?.entries.filter(
    ({ event, messageId }) =>
      event === 'message.received' && !written.has(messageId) && written.add(messageId).size > 0,
  );
  const hour = (
    known: { readonly since: number } | undefined,
    happened: readonly { readonly at: number; readonly isBad?: boolean }[] = [],
  ): Hour | undefined => known && hourOf(now, known.since, happened);
  const sent = hour(
    deliveries,
    deliveries?.entries.map(({ at, outcome }) => ({ at, isBad: outcome === 'dropped' })),
  );
  const accepted = hour(
    deliveries,
    deliveries?.entries.filter(({ outcome }) => outcome === 'delivered'),
  );
  const decided = (totals?.delivered ?? 0) + (totals?.dropped ?? 0);
  const times = deliveries?.entries.flatMap(({ ms }) => ms ?? []).toSorted((a, b) => a - b) ?? [];
  const median = times[Math.floor(times.length / 2)];
  const polls = synced?.accounts.flatMap(({ lastPoll }) => lastPoll ?? []) ?? [];
  const polled = Math.max(...polls.map(({ startedAt }) => Date.parse(startedAt)));
  const isPollBad = synced?.accounts.some(
    ({ lastPoll, pollOverdue }) => lastPoll?.ok === false || pollOverdue,
  );
  const heard = Math.max(
    ...(synced?.accounts ?? []).map(({ lastWebhookAt }) => Date.parse(lastWebhookAt ?? '') || 0),
  );
  const letters = synced?.dispatch?.deadLetters ?? 0;
  const repaired = synced?.accounts.reduce(
    (sum, { repaired: { messages, statuses }, undecidedRepairs }) =>
      sum + messages + statuses + undecidedRepairs,
    0,
  );
  const ago = (at: number): string => (at > 0 && Number.isFinite(at) ? showSpan(now - at) : '–');
  return (
    <section aria-label="Flow" className="card flow-card" data-current={isCurrent}>
      <header className="line">
        <h2>The last hour, by the minute</h2>
        <AsOf figures={figures} />
      </header>
      <ol className="flow" data-stations={isSandbox ? 5 : 3}>
        {isSandbox ? (
          <>
            <Station
              Icon={PhoneIcon}
              name="Phones"
              to={{ to: '/phone' }}
              value={numbers?.connected}
              label={numbers === undefined ? 'numbers' : `of ${numbers.all} connected`}
              isBad={numbers !== undefined && numbers.waiting > 0}
            />
            <Hop hour={hour(deliveries, received)} words={(good) => `${good} written`} />
            <Station
              Icon={ServiceIcon}
              name="Service"
              to={{ to: '/calls' }}
              value={totals && (decided + totals.pending).toLocaleString('en')}
              label="events"
            />
            <Hop
              hour={sent}
              words={(good, bad) => (bad === 0 ? `${good} sent` : `${bad} of ${good + bad} dropped`)}
            />
            <Station
              Icon={WebhookIcon}
              name="Webhooks"
              to={{ to: '/deliveries' }}
              value={decided === 0 ? undefined : `${showShare((totals?.delivered ?? 0) / decided)} %`}
              label={median === undefined ? 'delivered' : `delivered, in ${showDuration(median)}`}
              isBad={webhooks?.some(({ lastDeliveries: [last] }) => last?.outcome === 'dropped')}
            />
            <Hop hour={accepted} words={(good) => `${good} accepted`} />
          </>
        ) : (
          <>
            <Station
              Icon={WebhookIcon}
              name="Webhooks"
              to={{ to: '/sync' }}
              value={ago(heard)}
              label="since the last one"
              isBad={synced?.accounts.some(({ webhookHealth }) => webhookHealth === 'silent')}
            />
            <Hop />
          </>
        )}
        <Station
          Icon={ConnectorIcon}
          name="Connector"
          to={{ to: '/sync' }}
          value={mode().connector ? ago(polled) : undefined}
          label={mode().connector ? 'since the last poll' : 'not attached'}
          isBad={isPollBad}
        />
        <Hop hour={hour(changes, changes?.entries)} words={(good) => showCount(good, 'change')} />
        <Station
          Icon={CrmIcon}
          name="CRM"
          to={{ to: '/sync' }}
          value={changes?.last.toLocaleString('en')}
          label={
            letters > 0
              ? showCount(letters, 'dead letter')
              : synced?.dispatch == null
                ? 'changes'
                : `changes, ${synced.dispatch.waiting} waiting`
          }
          isBad={letters > 0}
        />
        {repaired === undefined ? null : (
          <li className="flow-repair">
            <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
              <path d="M0 0C20 22 80 22 100 0" />
            </svg>
            <Link to="/sync" data-count={repaired}>
              <RepairIcon />
              {repaired.toLocaleString('en')} repaired by polling
            </Link>
          </li>
        )}
      </ol>
    </section>
  );
}

/** A share in percent. Only all of it is 100. */
const showShare = (share: number): string =>
  share === 1 ? '100' : Math.min(99.9, Math.round(share * 1_000) / 10).toFixed(1);

function Station({
  Icon,
  name,
  to,
  value = '–',
  label,
  isBad = false,
}: {
  readonly Icon: LucideIcon;
  readonly name: string;
  readonly to: LinkProps;
  readonly value?: string | number | undefined;
  readonly label: string;
  /** Whether something stops here. */
  readonly isBad?: boolean | undefined;
}) {
  return (
    <li className="station" data-bad={isBad}>
      <Link {...to}>
        <Icon />
        <span>{name} </span>
        <b>{value}</b>
        <span className="soft"> {label}</span>
      </Link>
    </li>
  );
}

/** What passed from one station to the next. Without an hour, only the way. */
function Hop({
  hour,
  words,
}: {
  readonly hour?: Hour | undefined;
  readonly words?: (good: number, bad: number) => string;
}) {
  return (
    <li className="hop" data-bad={(hour?.bad ?? 0) > 0}>
      {hour === undefined || words === undefined ? null : (
        <>
          <span>
            {words(hour.good, hour.bad)}
            {hour.minutes === undefined ? null : ` in ${hour.minutes} min`}
          </span>
          <Spark columns={hour.columns} />
        </>
      )}
    </li>
  );
}
