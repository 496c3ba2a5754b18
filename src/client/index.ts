/** For programs that call a connector: a typed client of its API. Does not run a connector. */
import '../runtime/node-version/demand-node.mjs';
import type { Change } from '../contract/connector/changes.ts';
import { CONNECTOR_ENDPOINTS } from '../contract/connector/endpoints.ts';
import { type Client, createClient } from './create-client.ts';

export type { Change } from '../contract/connector/changes.ts';
export type { ConnectorMessage } from '../contract/connector/messages.ts';
export { CallRefused, type Client } from './create-client.ts';

const {
  receiveWebhook: _webhook,
  receiveSubscriptionWebhook: _subscriptionWebhook,
  streamChanges: _changes,
  streamPairing: _pairing,
  getMessageMedia: _file,
  openGrant: _open,
  goOnWithGrant: _goOn,
  finishGrant: _finish,
  ...CALLS
} = CONNECTOR_ENDPOINTS;

/** A method for each call of the API, by the `operationId` of its OpenAPI document. */
export type ConnectorClient = Client<typeof CALLS>;

export interface ConnectorClientOptions {
  /** The address of the connector, such as `https://connector.example.com`. */
  readonly url: string;
  /** A token of its API. */
  readonly token: string;
  /** How long a call may take, in ms. Default: 180,000, longer than any call of the connector takes. */
  readonly timeoutMs?: number;
}

/**
 * A client of the API of a connector. Each call resolves with the body of a success. It throws `CallRefused` for any
 * other answer, and what `fetch` throws if there is none. It repeats nothing: repeat `queueMessage` with the same
 * `reference`, and any call that only reads.
 */
export function createConnectorClient(options: ConnectorClientOptions): ConnectorClient {
  const { url, token, timeoutMs = 180_000 } = options;
  const address = url.replace(/\/+$/, '');
  return createClient(CALLS, () => address, {
    headers: { authorization: `Bearer ${token}` },
    timeoutMs,
  });
}

/** The changes after a position, page by page, until there are no more. Keep the `seq` of the last one processed. */
export async function* changesAfter(client: ConnectorClient, seq: number): AsyncGenerator<Change, void> {
  for (let after = String(seq); ; ) {
    const { changes, nextCursor, hasMore } = await client.listChanges({ query: { after } });
    yield* changes;
    if (!hasMore) return;
    after = nextCursor;
  }
}
