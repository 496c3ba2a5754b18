import type { z } from 'zod';
import type { CONNECTOR_ENDPOINTS, ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import type { FindingList } from '../../contract/connector/findings.ts';
import type { NamedHosts } from '../../runtime/public-network/is-named-host.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Account } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Consumers } from '../consumers/consumers.ts';
import type { Base } from '../db/base.ts';
import type { Feed } from '../feed/feed.ts';
import type { MediaStore } from '../media/media-store.ts';
import type { Oauth } from '../oauth/oauth.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { Facts } from '../state/facts.ts';

type Endpoint<Name extends ConnectorEndpointName> = (typeof CONNECTOR_ENDPOINTS)[Name];
type QueryOf<E> = E extends { readonly query: infer Schema extends z.ZodType } ? z.infer<Schema> : undefined;
type BodyOf<E> = E extends { readonly body: { readonly schema: infer Schema extends z.ZodType } }
  ? z.infer<Schema> | (E extends { readonly body: { readonly required: true } } ? never : undefined)
  : undefined;
type AnswerOf<E> = E extends {
  readonly answers: readonly [{ readonly schema: infer Schema extends z.ZodType }, ...unknown[]];
}
  ? z.infer<Schema>
  : never;

/** A request header, if the endpoint takes one. */
type HeaderOf<E> = E extends { readonly requestHeaders: readonly unknown[] }
  ? { readonly header: (name: string) => string | undefined }
  : unknown;
/** A response other than the first one of the endpoint, if it has several. */
type OtherAnswerOf<E> = E extends { readonly answers: readonly [unknown, unknown, ...unknown[]] }
  ? OtherAnswer<AnswerOf<E>>
  : never;

/** A request after validation by its schemas. */
export type ApiCall<Name extends ConnectorEndpointName> = HeaderOf<Endpoint<Name>> & {
  /** The `{id}` of the path; empty if the path has none. */
  readonly id: string;
  readonly query: QueryOf<Endpoint<Name>>;
  readonly body: BodyOf<Endpoint<Name>>;
};

/** A response with another status than the first one of its endpoint, or with headers. */
export class OtherAnswer<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;

  constructor(status: number, headers: Readonly<Record<string, string>>, body: Body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** Executes an operation. Throws an `ApiError` to reject the request. */
export type Operation<Name extends ConnectorEndpointName> = (
  call: ApiCall<Name>,
) => Promise<AnswerOf<Endpoint<Name>> | OtherAnswerOf<Endpoint<Name>>>;

/** All operations, by the name that the contract gives them. */
export type Operations = { readonly [Name in ConnectorEndpointName]?: Operation<Name> };

/** The parts of a connector that operations use. */
export interface ApiParts extends Base {
  readonly keyRing: KeyRing;
  readonly feed: Feed;
  readonly reconciler: Reconciler;
  readonly outbox: Outbox;
  readonly facts: Facts;
  /** Runs the doctor's checks that need nothing but the database. */
  readonly examine: () => Promise<FindingList>;
  readonly consumers: Pick<Consumers, 'notify'>;
  readonly accounts: Accounts;
  /** Null if OAuth is not configured. */
  readonly oauth: Pick<Oauth, 'app' | 'consents'> | null;
  /** Where files are kept; null if they are not. */
  readonly mediaStore: MediaStore | null;
  /** A client of the service for an account; null if this process must not use its credential. */
  readonly clientOf: (account: Account) => ServiceClient | null;
  /** Aborts calls when the process stops. */
  readonly closing: AbortSignal;
  /** Whether the account is configured in the environment. */
  readonly isConfigured: (accountId: string) => boolean;
  /** Hosts at which services of added accounts may be; null allows any public address. */
  readonly serviceHosts: NamedHosts | null;
  /** The Redis of this connector, for queues of consumers without one of their own. */
  readonly redisUrl: string | undefined;
}
