import type { z } from 'zod';
import * as connectorAccounts from './connector/accounts.ts';
import * as connectorChanges from './connector/changes.ts';
import * as connectorConnections from './connector/connections.ts';
import * as connectorConsumerRequests from './connector/consumer-requests.ts';
import * as connectorConsumers from './connector/consumers.ts';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from './connector/endpoints.ts';
import { CONNECTOR_ERRORS, connectorErrorBody } from './connector/errors.ts';
import * as connectorMessages from './connector/messages.ts';
import * as connectorOutbound from './connector/outbound.ts';
import * as connectorPairing from './connector/pairing.ts';
import * as connectorSync from './connector/sync.ts';
import * as connectorTrace from './connector/trace.ts';
import { buildDocument } from './openapi/build.ts';
import type { OpenApiDocument, OpenApiPath } from './openapi/document.ts';
import { headerParameters } from './openapi/operation.ts';
import type { SchemaBook } from './openapi/schemas.ts';
import * as sandboxAccess from './sandbox/access.ts';
import * as sandboxCalls from './sandbox/calls.ts';
import * as sandboxClock from './sandbox/clock.ts';
import * as sandboxConnections from './sandbox/connections.ts';
import * as sandboxContacts from './sandbox/contacts.ts';
import * as sandboxDeliveries from './sandbox/deliveries.ts';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from './sandbox/endpoints.ts';
import { SANDBOX_ERRORS, sandboxErrorBody } from './sandbox/errors.ts';
import * as sandboxFaults from './sandbox/faults.ts';
import * as sandboxInfo from './sandbox/info.ts';
import * as sandboxSignatures from './sandbox/signatures.ts';
import type { EndpointDefinition } from './schema/endpoint.ts';
import * as serviceAccount from './service/account.ts';
import * as serviceConnections from './service/connections.ts';
import { SERVICE_ENDPOINTS, type ServiceEndpoint, type ServiceEndpointName } from './service/endpoints.ts';
import * as serviceErrors from './service/errors.ts';
import * as serviceEvents from './service/events.ts';
import { HEADERS } from './service/headers.ts';
import { LIMITS } from './service/limits.ts';
import * as serviceMessages from './service/messages.ts';
import * as serviceWebhook from './service/webhook.ts';

/** The address of an API, and the operations that its document lists. */
export interface OpenApiOptions<Name extends string> {
  readonly serverUrl: string;
  /** Lists only these operations; defaults to all. */
  readonly only?: readonly Name[];
}

/** The service's REST API, version 1, with the webhooks that it sends. */
export function buildServiceOpenApi(options: OpenApiOptions<ServiceEndpointName>): OpenApiDocument {
  return buildDocument({
    info: {
      title: 'Messaging service',
      version: '1',
      description: 'Connections, messages and one signed webhook. Clients ignore unknown fields and events.',
    },
    serverUrl: options.serverUrl,
    endpoints: pick<ServiceEndpoint>(SERVICE_ENDPOINTS, options.only),
    modules: [
      serviceConnections,
      serviceMessages,
      serviceAccount,
      serviceWebhook,
      serviceEvents,
      serviceErrors,
    ],
    errorBody: serviceErrors.errorBody,
    error: serviceError,
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'An API key; it does not expire.' },
      accessToken: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description:
          'An OAuth 2.0 access token, valid for 15 minutes. The metadata of the authorization server is at `/.well-known/oauth-authorization-server`.',
      },
    },
    security: (endpoint) => {
      const scopes = 'scope' in endpoint && typeof endpoint.scope === 'string' ? [endpoint.scope] : [];
      return [{ apiKey: scopes }, { accessToken: scopes }];
    },
    webhooks: describeWebhooks,
  });
}

/** The connector's own API, including its webhook receiver. */
export function buildConnectorOpenApi(options: OpenApiOptions<ConnectorEndpointName>): OpenApiDocument {
  return buildDocument({
    info: {
      title: 'Messaging connector',
      version: '1',
      description:
        'The API for a CRM: messages, connections, ordered changes, and the state of synchronization.',
    },
    serverUrl: options.serverUrl,
    endpoints: pick<EndpointDefinition>(CONNECTOR_ENDPOINTS, options.only),
    modules: [
      serviceConnections,
      serviceMessages,
      serviceEvents,
      connectorAccounts,
      connectorConnections,
      connectorPairing,
      connectorMessages,
      connectorOutbound,
      connectorChanges,
      connectorConsumerRequests,
      connectorConsumers,
      connectorSync,
      connectorTrace,
      { connectorErrorBody },
    ],
    errorBody: connectorErrorBody,
    error: (code) => singleStatus(CONNECTOR_ERRORS, code) ?? serviceError(code),
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description:
          'A token of the connector, from `CONNECTOR_API_TOKEN` (all rights) or `CONNECTOR_API_TOKENS`. Each operation lists the right that it requires.',
      },
    },
    security: (endpoint) => {
      const right = 'right' in endpoint && typeof endpoint.right === 'string' ? [endpoint.right] : [];
      return [{ token: right }];
    },
    webhooks: describeConsumerRequests,
  });
}

/** The sandbox's control API. */
export function buildSandboxOpenApi(options: OpenApiOptions<SandboxEndpointName>): OpenApiDocument {
  return buildDocument({
    info: {
      title: 'Messaging sandbox',
      version: '1',
      description:
        'Controls what no client of the service can: people, phones, time and faults. Local use only.',
    },
    serverUrl: options.serverUrl,
    endpoints: pick<EndpointDefinition>(SANDBOX_ENDPOINTS, options.only),
    modules: [
      { acknowledgement: serviceConnections.acknowledgement, mediaObject: serviceMessages.mediaObject },
      sandboxInfo,
      sandboxSignatures,
      sandboxAccess,
      sandboxConnections,
      sandboxContacts,
      sandboxClock,
      sandboxFaults,
      sandboxDeliveries,
      sandboxCalls,
      { sandboxErrorBody },
    ],
    errorBody: sandboxErrorBody,
    error: (code) => singleStatus(SANDBOX_ERRORS, code) ?? serviceError(code),
    securitySchemes: {},
    security: () => [],
  });
}

function pick<Endpoint>(
  table: Readonly<Record<string, Endpoint>>,
  only: readonly string[] | undefined,
): [string, Endpoint][] {
  return Object.entries(table).filter(([name]) => only === undefined || only.includes(name));
}

function singleStatus(
  table: Readonly<Record<string, { readonly status: number; readonly meaning: string }>>,
  code: string,
) {
  if (!Object.hasOwn(table, code)) return undefined;
  const found = table[code];
  return found && { statuses: [found.status], meaning: found.meaning };
}

function serviceError(code: string): serviceErrors.ErrorDefinition {
  if (!serviceErrors.isErrorCode(code)) throw new Error(`no table defines the error ${code}`);
  return serviceErrors.ERRORS[code];
}

const ATTEMPT_DELAYS = LIMITS.webhookAttemptDelaysMs
  .map((ms) => (ms === 0 ? 'immediately' : `after ${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}`))
  .join(', ');

function describeConsumerRequests(book: SchemaBook): Record<string, OpenApiPath> {
  const { CONSUMER_HEADERS, consumerRequest, consumerBatchRequest } = connectorConsumerRequests;
  const parameters = headerParameters([
    {
      name: CONSUMER_HEADERS.id,
      description: 'The key of the change, or of the last one of a batch. The same in each attempt.',
      required: true,
    },
    {
      name: CONSUMER_HEADERS.timestamp,
      description: 'When the attempt was signed, in epoch seconds. Reject one more than five minutes ago.',
      required: true,
    },
    {
      name: CONSUMER_HEADERS.signature,
      description:
        '`v1,` followed by the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw body>`; the key is what follows `whsec_` in the secret, decoded from base64. After a rotation there are two, separated by a space.',
      required: true,
    },
  ]);
  const describe = (operationId: string, summary: string, schema: z.ZodType): OpenApiPath => ({
    post: {
      operationId,
      tags: ['webhooks'],
      summary,
      description:
        'Signed as [Standard Webhooks](https://www.standardwebhooks.com) describe. Verify the signature over the raw bytes. Requests about one connection come one after the other, in the order of the feed.',
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema: book.use(schema) } } },
      responses: {
        '2XX': {
          description: 'Accepted. Any other response counts as a failure, and the request is repeated.',
        },
        '410': { description: 'Disables the consumer. Its changes are kept.' },
      },
      security: [],
    },
  });
  return {
    'consumer.change': describe('on.consumer.change', 'Delivers one change.', consumerRequest),
    'consumer.batch': describe(
      'on.consumer.batch',
      'Delivers a batch, if the `batch` of the consumer is above 1.',
      consumerBatchRequest,
    ),
  };
}

function describeWebhooks(book: SchemaBook): Record<string, OpenApiPath> {
  const parameters = headerParameters([
    {
      name: HEADERS.timestamp,
      description: 'When the delivery was signed, in epoch milliseconds.',
      required: true,
    },
    {
      name: HEADERS.signature,
      description:
        '`sha256=` followed by the hex HMAC-SHA256 of `<timestamp>.<raw body>`, keyed with the signing secret.',
      required: true,
    },
  ]);
  return Object.fromEntries(
    serviceEvents.webhookEvent.options.map((schema) => {
      const name = schema.shape.event.value;
      const operation = {
        operationId: `on.${name}`,
        tags: ['webhooks'],
        summary: `Delivers \`${name}\`; up to ${LIMITS.webhookAttempts} attempts.`,
        description: `Sent for \`qr\` connections only, to the one webhook of the account. Verify the signature over the raw bytes, reject timestamps more than ${LIMITS.signatureFreshnessMs / 60_000} minutes old, and deduplicate on the message id. Respond with any 2xx within ${LIMITS.webhookAttemptTimeoutMs / 1_000} seconds. After ${LIMITS.webhookAttempts} failed attempts (${ATTEMPT_DELAYS}) the event is dropped, so poll \`GET /messages\` as well.`,
        parameters,
        requestBody: { required: true, content: { 'application/json': { schema: book.use(schema) } } },
        responses: {
          '2XX': { description: 'Accepted. Any other response, redirects included, counts as a failure.' },
        },
        security: [],
      };
      return [name, { post: operation }];
    }),
  );
}
