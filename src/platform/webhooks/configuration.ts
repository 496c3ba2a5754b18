import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { asc, desc } from 'drizzle-orm';
import { EVENT_TYPES, type EventType } from '../../contract/service/events.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { type HostLookup, lookupHost, lookupWithin } from '../../runtime/public-network/host-lookup.ts';
import { isPublicAddress } from '../../runtime/public-network/public-address.ts';
import { webhookConfigurations } from '../db/webhook-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Check } from '../kernel/checks.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';
import { hostOf, parseWebhookUrl } from './webhook-url.ts';

/** The URL for the events of an account, and the secret that signs them. */
export interface Destination {
  readonly url: string;
  readonly secret: string;
}

/** Port: provides secrets instead of random ones; undefined: a random one. */
export interface WebhookSecrets {
  next(subscriptionId: string, reason: 'put' | 'rotate'): string | undefined;
  /** Receives each secret that is in use: once it is stored, and of all stored ones at the start. */
  inUse?(subscriptionId: string, secret: string): void;
}

export interface WebhookConfigurationOptions {
  readonly database: Database;
  readonly hosts: TunnelHosts;
  readonly clock: Clock;
  /** Default: the system's resolver. */
  readonly lookup?: HostLookup | undefined;
  readonly secrets?: WebhookSecrets | undefined;
}

/** A webhook that is set, without its secret. */
export type SetWebhook = Omit<typeof webhookConfigurations.$inferSelect, 'secret'>;

/** The webhooks of workspaces and OAuth apps, by their id. Implements `Rules per endpoint, 12-14`. */
export interface WebhookConfiguration {
  /** Reads all configurations. Call it once, before any other. */
  load(): Promise<void>;
  /** `url` is null before the first `put`. The secret is not included. */
  get(subscriptionId: string): { url: string | null; events: EventType[]; secretSet: boolean };
  /** Sets or moves the endpoint and issues a new secret. Throws `invalid_webhook`. */
  put(subscriptionId: string, url: string): Promise<{ url: string; events: EventType[]; secret: string }>;
  /** Replaces the secret at once. Throws `invalid_webhook` before the first `put`. */
  rotate(subscriptionId: string): Promise<{ secret: string }>;
  /** The present URL and secret; null if none was set. */
  destination(subscriptionId: string): Destination | null;
  /** What is set, newest change first. `changedAt` is wall-clock epoch ms. */
  list(page: { readonly skip: number; readonly limit: number }): Promise<SetWebhook[]>;
  /** Clears the memory after the table has been emptied. */
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
 * Keeps the configurations in memory as well as in their table. Only one process runs the service on a database, so
 * events are always signed with the present secret.
 */
export function createWebhookConfiguration(options: WebhookConfigurationOptions): WebhookConfiguration {
  const { database, hosts, clock } = options;
  const lookup = lookupWithin(
    options.lookup ?? lookupHost,
    clock,
    ASSUMPTIONS.webhookAddress.value.unresolvedAfterMs,
  );
  // [webhook.config.one]
  const current = new Map<string, Destination>();
  const writes = new Map<string, Promise<unknown>>();

  /**
   * Accepts a name that does not resolve; refuses one that resolves to any private address.
   * [choice.webhook.unresolved] [webhook.url.private]
   */
  const checkAddress = async (url: URL): Promise<void> => {
    const host = hostOf(url);
    if (isIP(host) !== 0 || hosts.target(host) !== undefined) return;
    const addresses = await lookup(host).catch(() => []);
    if (!addresses.every(({ address }) => isPublicAddress(address)))
      refuse('the name resolves to a private address');
  };

  /** Serializes the changes of a subscription, so that table and memory have the same secret. */
  const inTurn = <T>(subscriptionId: string, change: () => Promise<T>): Promise<T> => {
    const turn = (writes.get(subscriptionId) ?? Promise.resolve()).then(change, change);
    writes.set(subscriptionId, turn);
    return turn;
  };

  const use = (subscriptionId: string, destination: Destination): void => {
    current.set(subscriptionId, destination);
    options.secrets?.inUse?.(subscriptionId, destination.secret);
  };

  const store = async (subscriptionId: string, destination: Destination): Promise<void> => {
    const row = { ...destination, changedAt: clock.now() };
    await orm(database)
      .insert(webhookConfigurations)
      .values({ subscriptionId, ...row })
      .onConflictDoUpdate({ target: webhookConfigurations.subscriptionId, set: row });
    use(subscriptionId, destination);
  };

  const issue = (subscriptionId: string, reason: 'put' | 'rotate'): string =>
    options.secrets?.next(subscriptionId, reason) ?? newSecret();

  return {
    async load() {
      const { subscriptionId, url, secret } = webhookConfigurations;
      const rows = await orm(database).select({ subscriptionId, url, secret }).from(webhookConfigurations);
      for (const { subscriptionId: id, ...destination } of rows) use(id, destination);
    },
    get(subscriptionId) {
      const set = current.get(subscriptionId);
      // [webhook.get.no-secret] [webhook.config.secretSet] [choice.webhook.before-put]
      return { url: set?.url ?? null, events: [...EVENT_TYPES], secretSet: set !== undefined };
    },
    async put(subscriptionId, url) {
      const parsed = parseWebhookUrl(url);
      await checkAddress(typeof parsed === 'string' ? refuse(parsed) : parsed);
      return inTurn(subscriptionId, async () => {
        // [webhook.put.issues] [choice.webhook.same-url]
        const secret = issue(subscriptionId, 'put');
        // [webhook.config.moves]
        await store(subscriptionId, { url, secret });
        return { url, events: [...EVENT_TYPES], secret };
      });
    },
    rotate(subscriptionId) {
      return inTurn(subscriptionId, async () => {
        // [choice.webhook.before-put]
        const set = current.get(subscriptionId) ?? refuse('no webhook is set', 'state');
        passed('state');
        const secret = issue(subscriptionId, 'rotate');
        // [webhook.rotate.at-once]
        await store(subscriptionId, { url: set.url, secret });
        return { secret };
      });
    },
    async list({ skip, limit }) {
      const { subscriptionId, url, changedAt } = webhookConfigurations;
      return await orm(database)
        .select({ subscriptionId, url, changedAt })
        .from(webhookConfigurations)
        .orderBy(desc(changedAt), asc(subscriptionId))
        .offset(skip)
        .limit(limit);
    },
    destination: (subscriptionId) => current.get(subscriptionId) ?? null,
    forget: () => current.clear(),
  };
}
