import type { Timer } from '../../../../../src/contract/sandbox/clock.ts';
import type { ListedConnection } from '../../../../../src/contract/sandbox/connections.ts';

/** Something that happens at a point of virtual time. */
export interface Due {
  readonly at: number;
  readonly what: string;
}

const WORDS: Readonly<Record<string, string>> = {
  'receipt.sent': 'A message is sent',
  'receipt.delivered': 'A message is delivered',
  'receipt.read': 'A message is read',
  'receipt.failed': 'A message fails',
  'contact.reply': 'A contact replies',
  'outage.found': 'The service finds an outage',
  'outage.healed': 'An outage ends by itself',
  'network.catch_up': 'A phone catches up',
};

/** What a timer does, in words. */
export const wordsOf = (what: string): string => WORDS[what] ?? what;

/**
 * Timers and the ends of licenses, soonest first. Licenses end by the time itself: no timer ends them, so they are
 * taken from the connections. `from` and `until` are virtual epoch milliseconds.
 */
export function mergeDue(
  timers: readonly Timer[],
  connections: readonly Pick<ListedConnection, 'id' | 'label' | 'licenseExpires' | 'phoneNumber'>[],
  from: number,
  until = Number.POSITIVE_INFINITY,
): readonly Due[] {
  const ends = connections.flatMap(({ id, label, licenseExpires, phoneNumber }) => {
    const name = phoneNumber === null ? label || id : `+${phoneNumber}`;
    const at = licenseExpires === null ? Number.NaN : Date.parse(licenseExpires);
    return at > from && at <= until ? { at, what: `The license of ${name} ends` } : [];
  });
  const fired = timers.map(({ at, what }) => ({ at: Date.parse(at), what: wordsOf(what) }));
  return [...fired, ...ends].sort((a, b) => a.at - b.at);
}

/** `3 × A message is read, A contact replies`. */
export function countDue(timers: readonly Pick<Timer, 'what'>[]): string {
  const groups = [...Map.groupBy(timers, ({ what }) => wordsOf(what))];
  return groups.map(([words, { length }]) => (length === 1 ? words : `${length} × ${words}`)).join(', ');
}
