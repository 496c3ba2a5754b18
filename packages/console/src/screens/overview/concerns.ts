import type { ConnectorAccount } from '../../../../../src/contract/connector/accounts.ts';
import type {
  ConnectorConnection,
  ConnectorConnectionList,
} from '../../../../../src/contract/connector/connections.ts';
import type { SyncStatus } from '../../../../../src/contract/connector/sync.ts';
import type { RegisteredWebhook } from '../../../../../src/contract/sandbox/deliveries.ts';
import type { Faults } from '../../../../../src/contract/sandbox/faults.ts';
import { showCount } from '../../ui/count.ts';
import type { SyncSection } from '../sync/remedies.ts';

/** Something that waits for a person: what it is, what to do, and where. */
export interface Concern {
  readonly tone: 'bad' | 'warn';
  readonly title: string;
  readonly hint: string;
  readonly to: '/connections' | '/deliveries' | '/sync' | '/calls' | null;
  /** The section of the screen that it leads to. */
  readonly hash?: SyncSection;
  /** The filter of the list that it leads to. */
  readonly q?: string;
  /** The action that resolves it. */
  readonly remedy?: 'remove_faults';
}

/** The first connections of a list, and whether there are more. */
export interface Found {
  readonly entries: readonly Pick<ConnectorConnection, 'id' | 'label' | 'phoneNumber'>[];
  readonly nextCursor?: string | undefined;
}

const NAMED = 3;

/** `Front desk, Sales and 4 more`. */
function namesOf({ entries, nextCursor }: Found): string {
  const names = entries.map(({ id, label, phoneNumber }) => label || phoneNumber || id);
  const more = names.length - NAMED;
  if (more <= 0) return names.join(', ');
  return `${names.slice(0, NAMED).join(', ')} and ${nextCursor === undefined ? more : `${more} or`} more`;
}

type ConnectionConcern = Pick<Concern, 'tone' | 'title' | 'hint'> & { readonly q: string };

/** What may be the matter with connections, and the filter that finds them. */
export const CONNECTION_CONCERNS: readonly ConnectionConcern[] = [
  {
    q: 'reconnect:yes',
    tone: 'bad',
    title: 'must be paired again',
    hint: 'Restart it and scan a new QR code.',
  },
  {
    q: 'license:expired',
    tone: 'bad',
    title: 'with an expired license',
    hint: 'The service hides it, refuses its sends and emits no events.',
  },
  {
    q: 'outage:* status:connected',
    tone: 'warn',
    title: 'broken, which the service has not found yet',
    hint: 'Move the time until the status probe runs, or heal it.',
  },
  {
    q: 'ending:yes',
    tone: 'warn',
    title: 'with a license that ends within three days',
    hint: 'A license can be renewed or let end on its screen.',
  },
];

/** The concern about the connections that a filter found; null if there are none. */
export function connectionConcern(kind: ConnectionConcern, found: Found): Concern | null {
  const { entries, nextCursor } = found;
  if (entries.length === 0) return null;
  const count =
    nextCursor === undefined ? showCount(entries.length, 'number') : `${entries.length} or more numbers`;
  return {
    ...kind,
    to: '/connections',
    title: `${count} ${kind.title}`,
    hint: `${namesOf(found)}. ${kind.hint}`,
  };
}

/** What the last attempt reports if a fault affected it: active faults are listed separately. */
const BY_FAULT = 'dropped';

/** Why a receiver did not accept its last delivery, and what to do; null if it did, or there was none. */
function webhookConcern({
  subscription: { id },
  url,
  lastDeliveries: [last],
}: RegisteredWebhook): Concern | null {
  if (last === undefined || last.outcome === 'delivered') return null;
  const { status, error } = last;
  if (status === undefined && (error === undefined || error === BY_FAULT)) return null;
  const isSecret = status === 401 || status === 403;
  return {
    tone: 'bad',
    title: isSecret ? `A webhook refuses the signature: ${status}` : `A webhook fails: ${error ?? status}`,
    hint: isSecret
      ? `${url} has another secret, or checks it differently. Open a delivery to see what was signed.`
      : `${url} did not accept its last delivery. Open it to see each attempt.`,
    to: '/deliveries',
    q: `webhook:${id} !status:delivered`,
  };
}

/** What deliveries, faults and the clock of the sandbox need, as far as it was read. */
export function laneConcerns(lane: {
  readonly webhooks?: readonly RegisteredWebhook[] | undefined;
  readonly held?: number | undefined;
  readonly faults?: Faults | undefined;
  readonly isFrozen?: boolean | undefined;
}): Concern[] {
  const { webhooks, held = 0, faults, isFrozen = false } = lane;
  const rules = (faults?.rules ?? []).map(({ id, hits }) => `${id} (${showCount(hits, 'hit')})`);
  const concerns: (Concern | null | false)[] = [
    webhooks?.length === 0 && {
      tone: 'bad',
      title: 'No webhook is set',
      hint: 'Every event is dropped until PUT /webhook sets an address.',
      to: '/deliveries',
      q: 'reason:no_webhook',
    },
    ...(webhooks ?? []).map(webhookConcern),
    held > 0 && {
      tone: 'warn',
      title: `${showCount(held, 'delivery', 'deliveries')} held`,
      hint: 'Nothing is sent until you release them.',
      to: '/deliveries',
      q: 'status:pending',
    },
    rules.length > 0 && {
      tone: 'warn',
      title: `${showCount(rules.length, 'fault rule')} armed`,
      hint: rules.join(', '),
      to: null,
      remedy: 'remove_faults',
    },
    isFrozen && {
      tone: 'warn',
      title: 'Virtual time stands still',
      hint: 'Nothing falls due until it is moved or runs again.',
      to: null,
    },
  ];
  return concerns.filter((concern) => concern !== null && concern !== false);
}

/** What a connector needs, from its own API only, as far as it was read. */
export function connectorConcerns(connector: {
  readonly accounts?: readonly ConnectorAccount[];
  readonly sync?: SyncStatus | undefined;
  readonly deadLetters?: { readonly count: number; readonly hasMore: boolean };
  /** The connections that must be paired again. */
  readonly broken?: Pick<ConnectorConnectionList, 'connections' | 'hasMore'> | undefined;
}): Concern[] {
  const { accounts = [], sync, deadLetters, broken } = connector;
  const toPair = broken?.connections ?? [];
  const { count, hasMore } = deadLetters ?? { count: 0, hasMore: false };
  const concerns: (Concern | false)[] = [
    toPair.length > 0 && {
      tone: 'bad',
      title: `${broken?.hasMore ? `${toPair.length} or more numbers` : showCount(toPair.length, 'number')} must be paired again`,
      hint: `${namesOf({ entries: toPair })}. Restart it and show its owner the QR code.`,
      to: '/sync',
      hash: 'pair-again',
    },
    count > 0 && {
      tone: 'bad',
      title: hasMore ? `${count} or more dead letters` : showCount(count, 'dead letter'),
      hint: "The CRM's handler failed to process these changes. Replay them once it is fixed.",
      to: '/sync',
      hash: 'letters',
    },
    ...accounts.flatMap(({ id, label, state, secretInDoubt }): (Concern | false)[] => [
      state === 'credential_refused' && {
        tone: 'bad',
        title: 'The service refuses an API key',
        hint: `Account ${label ?? id} neither polls nor sends until it has a new key.`,
        to: '/sync',
      },
      state === 'reauth_required' && {
        tone: 'bad',
        title: 'A customer must consent again',
        hint: `Account ${label ?? id} neither polls nor sends until then.`,
        to: '/sync',
      },
      secretInDoubt && {
        tone: 'warn',
        title: 'A signing secret is being replaced',
        hint: `The connector does not know yet which secret of account ${label ?? id} is valid.`,
        to: '/sync',
      },
    ]),
    ...(sync?.accounts ?? []).map(({ lastPoll, pollOverdue }): Concern | false => {
      const isFailing = lastPoll?.ok === false;
      return (
        (isFailing || pollOverdue) && {
          tone: 'bad',
          title: isFailing ? `Polls fail: ${lastPoll.error}` : 'Polls are late',
          hint: 'What webhooks lose is repaired only once they succeed again.',
          to: '/sync',
        }
      );
    }),
  ];
  return concerns.filter((concern) => concern !== false);
}
