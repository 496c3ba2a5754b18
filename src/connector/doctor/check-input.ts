import type { AccountKind } from '../../contract/connector/accounts.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { ServiceCalls } from './service-calls.ts';

/** The settings that the checks compare with what they find. Secrets are plain here and shown nowhere. */
export interface DoctorSettings {
  readonly databaseUrl?: string | undefined;
  readonly redisUrl?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly apiToken?: string | undefined;
  readonly sealingKeys: readonly string[];
  readonly service?: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  readonly webhookPublicUrl?: string | undefined;
  /** The settings name a signing secret. */
  readonly namesWebhookSecret?: boolean;
  /** The settings name the signing secret of the OAuth app's webhook. */
  readonly namesAppWebhookSecret?: boolean;
  /** The module with the CRM's handlers. */
  readonly handlersModule?: string | undefined;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  /** The sandbox of a service on this machine: there it does what a portal does elsewhere. */
  readonly sandboxUrl?: string | undefined;
}

/** How the public address of the webhook is reached. Default: as everybody reaches it. */
export interface PublicReach {
  readonly ca?: string;
  readonly lookup?: (
    host: string,
    options: unknown,
    done: (error: Error | null, address: { address: string; family: number }[]) => void,
  ) => void;
}

/** What every check knows. */
export interface CheckInput {
  readonly settings: DoctorSettings;
  readonly clock: Clock;
  /** Aborts at the check's deadline. */
  readonly signal: AbortSignal;
}

/** What a check knows once the database answers and holds the tables of this version. */
export interface StoreCheckInput extends CheckInput {
  readonly database: Queryable;
}

/** An account that is looked at. Without a database there is the configured one alone. */
export interface ExaminedAccount {
  readonly id: string;
  readonly kind: AccountKind;
  readonly subscriptionId: string;
  readonly baseUrl: string | null;
  /** Where the service should deliver to; null: not known to this connector. */
  readonly webhookUrl: string | null;
  /** The settings name it. */
  readonly configured: boolean;
}

/** What a check of a stored account knows. */
export interface AccountCheckInput extends StoreCheckInput {
  readonly account: ExaminedAccount;
}

/** What a check knows that asks the service; the database may be away. */
export interface ServiceCheckInput extends CheckInput {
  readonly account: ExaminedAccount;
  readonly service: ServiceCalls;
  readonly database: Queryable | null;
  readonly reach: PublicReach;
}
