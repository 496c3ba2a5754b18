import { scrubText } from '../../runtime/logger/scrub-text.ts';
import type { Quota } from '../accounts/quota.ts';
import type { Facts } from './facts.ts';
import { type ConnectionCount, type ConsumerFigures, type ListedNumber, oldestWaitMs } from './figures.ts';
import { ago, count, some, span } from './wording.ts';

/* How figures are computed from facts, and what a reader is shown as evidence. */

/** A value for each combination of labels. */
export type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/** A value, or several. Durations are in seconds. */
export type Read = (facts: Facts) => Promise<number | Samples>;

/** How long ago, in seconds; 0 if never or in the future. */
export function ageIn(now: number, at: number | null | undefined): number {
  return oldestWaitMs({ oldestAt: at ?? null }, now) / 1_000;
}

export function ofConsumers(value: (figures: ConsumerFigures, now: number) => number): Read {
  return async ({ consumers, now }) =>
    (await consumers()).map((each) => [{ consumer: each.name }, value(each, now())]);
}

export function ofQuotas(samples: (quota: Quota) => Samples): Read {
  return async ({ quotas }) => (await quotas()).flatMap(samples);
}

/** Counts connections by account and one more label. The number of series grows with accounts, not with connections. */
export function ofConnections<Value extends string>(
  label: string,
  values: readonly Value[],
  labelOf: (connections: ConnectionCount) => Value | null,
): Read {
  return async ({ connections }) => {
    const byAccount = Map.groupBy(await connections(), ({ accountId }) => accountId);
    return [...byAccount].flatMap(([account, rows]) =>
      values.map((value) => {
        const counted = rows.filter((row) => labelOf(row) === value);
        return [{ account, [label]: value }, counted.reduce((sum, row) => sum + row.count, 0)] as const;
      }),
    );
  };
}

export async function listDelayed({ queues, now }: Facts) {
  const delayed = (await queues()).filter(({ lastError }) => lastError !== null);
  return delayed.filter(({ nextAttemptAt }) => (nextAttemptAt ?? 0) > now());
}

export async function describeLateSends({
  queues,
  lateSends,
  sends,
  now,
}: Facts): Promise<readonly string[]> {
  const due = (await queues()).filter(
    ({ nextAttemptAt }) => nextAttemptAt !== null && nextAttemptAt <= now(),
  );
  const all = await sends();
  return [
    `${count((await lateSends()).waiting, 'send is', 'sends are')} due: ${some(due.map(({ connectionId, lastError }) => `${connectionId} (${lastError ?? 'not tried yet'})`))}.`,
    `${count(all.waiting, 'send waits', 'sends wait')} in total, the oldest for ${span(oldestWaitMs(all, now()))}.`,
  ];
}

export async function describeConsumers({ consumers, now }: Facts): Promise<readonly string[]> {
  return (await consumers()).flatMap(({ name, state, waiting, oldestAt }) =>
    oldestAt === null
      ? []
      : [
          `${count(waiting, 'change waits', 'changes wait')} for ${name}${state === 'running' ? '' : `, which is ${state}`}, the oldest for ${span(now() - oldestAt)}.`,
        ],
  );
}

export async function describeLetters({ letters, now }: Facts): Promise<readonly string[]> {
  const newest = await letters();
  const errors = [...new Set(newest.map(({ lastError }) => scrubText(lastError, 120)))];
  return [
    `The last one ${newest[0] === undefined ? 'is gone' : ago(Date.parse(newest[0].at), now())}. Errors: ${some(errors, 3)}.`,
  ];
}

export const isLapsed = ({ visible, licenseValid }: ListedNumber): boolean =>
  !visible || licenseValid === false;
export const mustPair = ({ visible, needsReconnect }: ListedNumber): boolean =>
  visible && needsReconnect === true;

export async function describeLapsed({ numbers, quota }: Facts): Promise<readonly string[]> {
  const slots = await quota();
  const lapsed = listNumbersOf(
    await numbers(),
    (row) => isLapsed(row) && (row.licenseStatus === null ? '' : `, license ${row.licenseStatus}`),
  );
  return slots?.slotsAvailable === 0
    ? [lapsed, `No slot is free: ${slots.slotsUsed} of ${slots.slotsTotal} are used.`]
    : [lapsed];
}

/** The ids and labels of the connections of which something is said; false leaves one out. */
export function listNumbersOf(
  numbers: readonly ListedNumber[],
  say: (row: ListedNumber) => string | false,
): string {
  const named = numbers.flatMap((row) => {
    const said = say(row);
    return said === false
      ? []
      : [`${row.connectionId}${row.label ? ` (${row.label.slice(0, 40)})` : ''}${said}`];
  });
  return `${some(named)}.`;
}
