import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import { type Account, hostOf, noteRefused, readAccount } from '../accounts/account-store.ts';
import { type CredentialOptions, clientWith, credentialOf } from '../accounts/credential-source.ts';
import type { Base } from '../db/base.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { isRefusal, ServiceError } from '../service-client/service-errors.ts';
import type { QueueFloors } from './due-queues.ts';

/**
 * A client that may send, or why there is none: the account is `gone`, other processes send for it
 * (`elsewhere`), or it has no valid credential at the moment (`paused`): the service refuses its key, its
 * customer must consent again, or the authorization server fails.
 */
export type SendingClient = HostedClient | 'gone' | 'elsewhere' | 'paused';

export interface HostedClient extends ServiceClient {
  /** The host of its service: sends share memory and sockets by host. */
  readonly host: string;
}

export interface OpenClientOptions extends CredentialOptions {
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
}

/**
 * Opens the credential of an account before an attempt starts: a failure after that would count as a lost
 * answer. Throws what the database, the key ring or the credential throws.
 */
export async function openSendingClient(
  options: OpenClientOptions,
  accountId: string,
): Promise<SendingClient> {
  const account = await readAccount(options.database, accountId);
  if (account === null) return 'gone';
  if (!account.hasCredential || !options.mayUse(account)) return 'elsewhere';
  if (account.awaitsConsent || account.isRefused) return 'paused';
  const credential = credentialOf(options, account);

  /** A refused key is not used again. If this cannot be stored now, the next poll does it. */
  async function noting(error: unknown): Promise<never> {
    const isRefused = account?.kind === 'api_key' && isRefusal(error, 'invalid_key');
    if (isRefused) await noteRefused(options.database, account).catch(() => undefined);
    throw error;
  }

  try {
    const token = await credential.token();
    const client = clientWith({ ...credential, token: async () => token }, account, options.clock);
    return {
      ...client,
      host: hostOf(account),
      sendMessage: (...call) => client.sendMessage(...call).catch(noting),
    };
  } catch (error) {
    if (error instanceof ServiceError) return 'paused';
    throw error;
  }
}

export type OutboxMetrics = ReturnType<typeof createOutboxMetrics>;

const SECONDS = [0.1, 0.5, 1, 2, 5, 10, 20, 60, 120, 200];

/** The metrics of sending. Created once per process. */
export function createOutboxMetrics(metrics: Metrics) {
  return {
    attempts: metrics.counter('connector_send_attempts_total', 'Attempts to send, by outcome.', {
      name: 'outcome',
      values: ['accepted', 'refused', 'not_sent', 'lost', 'abandoned'],
    }),
    seconds: metrics.histogram('connector_send_seconds', 'Duration of attempts to send.', SECONDS),
    finished: metrics.counter('connector_sends_finished_total', 'Finished sends, by state.', {
      name: 'state',
      values: ['sent', 'rejected', 'unknown', 'delivered_not_stored'],
    }),
  };
}

/** What all queues of a process share. */
export interface QueueContext extends Base {
  readonly metrics: OutboxMetrics;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  /** Returns a client with the credential of an account. Throws if the credential is not available now. */
  readonly clientFor: (accountId: string) => Promise<SendingClient>;
  /** Bytes of memory for files, shared by the hosts of the services. */
  readonly fileMemory: Turns;
  /** Concurrent calls to send, shared by the hosts of the services. */
  readonly calls: Turns;
  /** Up to where the queues have finished. */
  readonly floors: QueueFloors;
  /** Aborts when calls in flight must end. This may be some time after the process was asked to stop. */
  readonly aborting: AbortSignal;
  /** Accounts whose last attempt in this process received no answer from the service, and since when, on `elapsed`. */
  readonly unanswered: Map<string, number>;
  /** Called when the service has answered an attempt of such an account. */
  readonly onServiceBack: (accountId: string) => void;
  /** Called after each write that adds to the feed. */
  readonly onCommitted: () => void;
}
