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
import type { Range } from '../../data/statistics.ts';
import { AsOf } from '../../ui/as-of.tsx';
import { showCount } from '../../ui/count.ts';
import { Figure } from '../../ui/figure.tsx';
import { showDuration, showSpan } from '../../ui/times.tsx';
import { Spark } from './spark.tsx';
import { countRefused, latencyOf, type Trend, trendOf } from './trend.ts';
import { useFlow } from './use-flow.ts';

/** The way of a message with its live figures: the stations, and between them what the connector has counted. */
export function Flow({
  range,
  onRange,
}: {
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}) {
  const now = useRealNow();
  const { statistics, totals, numbers, synced, webhooks, figures } = useFlow(range);
  const { isCurrent } = useReading(figures);
  const isSandbox = mode().mode === 'sandbox';
  const trend = (read: Parameters<typeof trendOf>[1]): Trend | undefined =>
    statistics && trendOf(statistics, read);
  const received = trend((point) => ({ good: point.webhooks.received, bad: countRefused(point) }));
  const fresh = trend(({ webhooks: { received: all, unchanged } }) => ({ good: all - unchanged }));
  const sends = trend(({ sends: { sent, failed } }) => ({ good: sent, bad: failed }));
  const changes = trend(({ changes: good, consumers }) => ({ good, bad: consumers.failed }));
  const decided = (totals?.delivered ?? 0) + (totals?.dropped ?? 0);
  const polls = synced?.accounts.flatMap(({ lastPoll }) => lastPoll ?? []) ?? [];
  const polled = Math.max(...polls.map(({ startedAt }) => Date.parse(startedAt)));
  const isPollBad = synced?.accounts.some(
    ({ lastPoll, pollOverdue }) => lastPoll?.ok === false || pollOverdue,
  );
  const heard = Math.max(
    ...(synced?.accounts ?? []).map(({ lastWebhookAt }) => Date.parse(lastWebhookAt ?? '') || 0),
  );
  // Consumers of all kinds: `dispatch` of the status is about handlers alone.
  const consumers = statistics?.points.map((point) => point.consumers) ?? [];
  const hasConsumer = consumers.some(({ taken, failed, waiting }) => taken + failed + (waiting ?? 0) > 0);
  const letters = Math.max(synced?.dispatch?.deadLetters ?? 0, consumers.at(-1)?.deadLetters ?? 0);
  const waiting = synced?.dispatch?.waiting ?? consumers.at(-1)?.waiting ?? 0;
  const repaired = trend(({ polls: { repaired: good } }) => ({ good }))?.good;
  const latency = statistics && latencyOf(statistics);
  const ago = (at: number): string => (at > 0 && Number.isFinite(at) ? showSpan(now - at) : '–');
  return (
    <section aria-label="Flow" className="card flow-card" data-current={isCurrent}>
      <header className="line">
        <h2>
          {range === 'hour' ? 'The last hour, by the minute' : 'The last day, by the quarter of an hour'}
        </h2>
        <AsOf figures={figures} />
        {mode().connector ? <RangeTabs range={range} onRange={onRange} /> : null}
      </header>
      <ol className="flow" data-stations={isSandbox ? 5 : 4}>
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
            <Hop />
          </>
        ) : null}
        <Station
          Icon={ServiceIcon}
          name="Service"
          to={{ to: isSandbox ? '/calls' : '/sync' }}
          value={isSandbox ? totals && (decided + totals.pending).toLocaleString('en') : sends?.good}
          label={isSandbox ? 'events' : 'sends accepted'}
          isBad={!isSandbox && (sends?.bad ?? 0) > 0}
        />
        <Hop
          trend={received}
          words={(good, bad) =>
            bad === 0
              ? `${showNumber(good)} received`
              : `${showNumber(bad)} of ${showNumber(good + bad)} refused`
          }
        />
        <Station
          Icon={WebhookIcon}
          name="Webhooks"
          to={{ to: '/deliveries' }}
          value={
            isSandbox
              ? decided === 0
                ? undefined
                : `${showShare((totals?.delivered ?? 0) / decided)} %`
              : ago(heard)
          }
          label={isSandbox ? 'delivered' : 'since the last one'}
          isBad={
            webhooks?.some(({ lastDeliveries: [last] }) => last?.outcome === 'dropped') ||
            (!isSandbox && synced?.accounts.some(({ webhookHealth }) => webhookHealth === 'silent'))
          }
        />
        <Hop trend={fresh} words={(good) => `${showNumber(good)} new`} />
        <Station
          Icon={ConnectorIcon}
          name="Connector"
          to={{ to: '/sync' }}
          value={mode().connector ? ago(polled) : undefined}
          label={mode().connector ? 'since the last poll' : 'not attached'}
          isBad={isPollBad}
        />
        <Hop
          trend={changes}
          words={(good, bad) =>
            bad > 0
              ? `${showCount(bad, 'call')} of the CRM failed`
              : `${showNumber(good)} change${good === 1 ? '' : 's'}`
          }
        />
        <Station
          Icon={CrmIcon}
          name="CRM"
          to={{ to: '/sync' }}
          value={latency == null ? undefined : showDuration(latency * 1_000)}
          label={
            letters > 0
              ? showCount(letters, 'dead letter')
              : synced?.dispatch == null && !hasConsumer
                ? 'reads the feed'
                : `to be handled, ${waiting} waiting`
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
              {showNumber(repaired)} repaired by polling
            </Link>
          </li>
        )}
      </ol>
    </section>
  );
}

/** Chooses between the last hour and the last day. */
function RangeTabs({ range, onRange }: Parameters<typeof Flow>[0]) {
  return (
    <span className="tabs">
      {(['hour', 'day'] as const).map((each) => (
        <button
          key={each}
          type="button"
          aria-label={`The last ${each}`}
          aria-pressed={each === range}
          onClick={() => onRange(each)}
        >
          {each}
        </button>
      ))}
    </span>
  );
}

/** Between two stations there is room for five digits. */
const showNumber = (value: number): string =>
  value.toLocaleString('en', value < 100_000 ? {} : { notation: 'compact', maximumSignificantDigits: 3 });

/** A share in percent. Only all of it is 100. */
const showShare = (share: number): string =>
  share === 1 ? '100' : Math.min(99.9, Math.round(share * 1_000) / 10).toFixed(1);

function Station({
  Icon,
  name,
  to,
  value,
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
        <Figure name={name} value={value}>
          {label}
        </Figure>
      </Link>
    </li>
  );
}

/** What passed from one station to the next. Without figures, only the way. */
function Hop({
  trend,
  words,
}: {
  readonly trend?: Trend | undefined;
  readonly words?: (good: number, bad: number) => string;
}) {
  return (
    <li className="hop" data-bad={(trend?.bad ?? 0) > 0}>
      {trend === undefined || words === undefined ? null : (
        <>
          <span>{words(trend.good, trend.bad)}</span>
          <Spark columns={trend.columns} />
        </>
      )}
    </li>
  );
}
