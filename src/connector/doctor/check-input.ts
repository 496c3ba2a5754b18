import type { AccountKind } from '../../contract/connector/accounts.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { ServiceCalls } from './service-calls.ts';

/** The settings that the checks use. Secrets are in plain text here and shown nowhere. */
export interface DoctorSettings {
  readonly databaseUrl?: string | undefined;
  readonly redisUrl?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly apiToken?: string | undefined;
  readonly sealingKeys: readonly string[];
  readonly service?: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  readonly webhookPublicUrl?: string | undefined;
  /** The settings contain a signing secret. */
  readonly namesWebhookSecret?: boolean;
  /** The settings contain the signing secret of the OAuth app's webhook. */
  readonly namesAppWebhookSecret?: boolean;
  /** The module with the CRM's handlers. */
  readonly handlersModule?: string | undefined;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  /** The sandbox of a service on this machine; it replaces the portal. */
  readonly sandboxUrl?: string | undefined;
}

/** How the public address of the webhook is reached. Default: as everybody does. */
export interface PublicReach {
  readonly ca?: string;
  readonly lookup?: (
    host: string,
    options: unknown,
    done: (error: Error | null, address: { address: string; family: number }[]) => void,
  ) => void;
}

export interface CheckInput {
  readonly settings: DoctorSettings;
  readonly clock: Clock;
  /** Aborts at the check's deadline. */
  readonly signal: AbortSignal;
}

/** Input of a check that needs the database, with the tables of this version. */
export interface StoreCheckInput extends CheckInput {
  readonly database: Queryable;
}

/** An account to check. Without a database, only the one in the settings is known. */
export interface ExaminedAccount {
  readonly id: string;
  readonly kind: AccountKind;
  readonly subscriptionId: string;
  readonly baseUrl: string | null;
  /** Where the service should deliver to; null if this connector does not know. */
  readonly webhookUrl: string | null;
  /** It is the account of the settings. */
  readonly configured: boolean;
}

export interface AccountCheckInput extends StoreCheckInput {
  readonly account: ExaminedAccount;
}

/** Input of a check that calls the service; the database may be unavailable. */
export interface ServiceCheckInput extends CheckInput {
  readonly account: ExaminedAccount;
  readonly service: ServiceCalls;
  readonly database: Queryable | null;
  readonly reach: PublicReach;
}
