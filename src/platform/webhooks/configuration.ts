import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { EVENT_TYPES, type EventType } from '../../contract/service/events.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { type HostLookup, lookupHost, lookupWithin } from '../../runtime/public-network/host-lookup.ts';
import { isPublicAddress } from '../../runtime/public-network/public-address.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import type { Check } from '../checks.ts';
import { passed } from '../decision-trace.ts';
import { PlatformError } from '../platform-error.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';
import { hostOf, parseWebhookUrl } from './webhook-url.ts';

/** Where the events of an account go, and what signs them. */
export interface Destination {
  readonly url: string;
  readonly secret: string;
}

/** Issues secrets in place of random ones; undefined leaves one to chance. */
export interface WebhookSecrets {
  next(workspaceId: string, reason: 'put' | 'rotate'): string | undefined;
}

export interface WebhookConfigurationOptions {
  readonly database: Database;
  readonly hosts: TunnelHosts;
  readonly clock: Clock;
  /** Default: the system's resolver. */
  readonly lookup?: HostLookup;
  readonly secrets?: WebhookSecrets;
}

/** The webhook of each workspace. Implements `Rules per endpoint, 12-14`. */
export interface WebhookConfiguration {
  /** Reads all configurations; once, before any other call. */
  load(): Promise<void>;
  /** `url` is null before the first `put`. The secret is never shown again. */
  get(workspaceId: string): { url: string | null; events: EventType[]; secretSet: boolean };
  /** Sets or moves the endpoint and issues a new secret. Throws `invalid_webhook`. */
  put(workspaceId: string, url: string): Promise<{ url: string; events: EventType[]; secret: string }>;
  /** Replaces the secret; the old one signs nothing from here on. Throws `invalid_webhook` before a `put`. */
  rotate(workspaceId: string): Promise<{ secret: string }>;
  /** What delivery signs with now; null when none was set. */
  destination(workspaceId: string): Destination | null;
  /** Forgets everything after the table was emptied. */
  forget(): void;
}

function newSecret(): string {
  const { prefix, bytes } = ASSUMPTIONS.webhookSecret.value;
  return `${prefix}${randomBytes(bytes).toString('base64url')}`;
}

function refuse(why: string, check: Check = 'shape'): never {
  throw new PlatformError('invalid_webhook', { check, why });
}

/**
 * Keeps the configurations in memory beside their table: one process runs the service on a database, and an
 * event must be signed with the secret that holds at that moment, not at an earlier read.
 */
export function createWebhookConfiguration(options: WebhookConfigurationOptions): WebhookConfiguration {
  const { database, hosts, clock } = options;
  const lookup = lookupWithin(
    options.lookup ?? lookupHost,
    clock,
    ASSUMPTIONS.webhookAddress.value.unresolvedAfterMs,
  );
  const current = new Map<string, Destination>();
  const writes = new Map<string, Promise<unknown>>();

  /** A name that does not resolve now is accepted; one that leads to any private address is not. */
  const checkAddress = async (url: URL): Promise<void> => {
    const host = hostOf(url);
    if (isIP(host) !== 0 || hosts.target(host) !== undefined) return;
    const addresses = await lookup(host).catch(() => []);
    if (!addresses.every(({ address }) => isPublicAddress(address)))
      refuse('the name leads to a private address');
  };

  /** One change of a workspace at a time, so that table and memory end with the same secret. */
  const inTurn = <T>(workspaceId: string, change: () => Promise<T>): Promise<T> => {
    const turn = (writes.get(workspaceId) ?? Promise.resolve()).then(change, change);
    writes.set(workspaceId, turn);
    const leave = (): void => {
      if (writes.get(workspaceId) === turn) writes.delete(workspaceId);
    };
    turn.then(leave, leave);
    return turn;
  };

  const store = async (workspaceId: string, destination: Destination): Promise<void> => {
    await database.query(
      `INSERT INTO platform.webhook_configurations (workspace_id, url, secret, changed_at)
       VALUES ($1, $2, $3, $4)
       ON CONFLICT (workspace_id) DO UPDATE
       SET url = excluded.url, secret = excluded.secret, changed_at = excluded.changed_at`,
      [workspaceId, destination.url, destination.secret, clock.now()],
    );
    current.set(workspaceId, destination);
  };

  const issue = (workspaceId: string, reason: 'put' | 'rotate'): string =>
    options.secrets?.next(workspaceId, reason) ?? newSecret();

  return {
    async load() {
      const rows = await database.query<{ workspace_id: string; url: string; secret: string }>(
        'SELECT workspace_id, url, secret FROM platform.webhook_configurations',
      );
      for (const row of rows) current.set(row.workspace_id, { url: row.url, secret: row.secret });
    },
    get(workspaceId) {
      const set = current.get(workspaceId);
      return { url: set?.url ?? null, events: [...EVENT_TYPES], secretSet: set !== undefined };
    },
    async put(workspaceId, url) {
      const parsed = parseWebhookUrl(url) ?? refuse('the URL is not HTTPS on a public host');
      await checkAddress(parsed);
      return inTurn(workspaceId, async () => {
        const secret = issue(workspaceId, 'put');
        await store(workspaceId, { url, secret });
        return { url, events: [...EVENT_TYPES], secret };
      });
    },
    rotate(workspaceId) {
      return inTurn(workspaceId, async () => {
        const set = current.get(workspaceId) ?? refuse('no webhook is set', 'state');
        passed('state');
        const secret = issue(workspaceId, 'rotate');
        await store(workspaceId, { url: set.url, secret });
        return { secret };
      });
    },
    destination: (workspaceId) => current.get(workspaceId) ?? null,
    forget: () => current.clear(),
  };
}
