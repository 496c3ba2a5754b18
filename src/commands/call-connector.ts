import { type AnswerOf, type EndpointInput, fillAddress } from '../client/call-endpoint.ts';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../contract/connector/endpoints.ts';
import { connectorErrorBody } from '../contract/connector/errors.ts';
import type { EndpointDefinition } from '../contract/schema/endpoint.ts';

const DEADLINE_MS = 30_000;

/** The input of a call. `body` is sent as JSON. */
export interface ConnectorRequest extends EndpointInput {
  readonly body?: object;
}

/** Calls an endpoint of the connector by its name in the contract. @throws Error with the reason for a failure. */
export type CallConnector = <Called extends ConnectorEndpointName>(
  name: Called,
  request?: ConnectorRequest,
) => Promise<AnswerOf<(typeof CONNECTOR_ENDPOINTS)[Called]>>;

/** A client of the API of the connector at a base address. */
export function callConnectorAt(url: string, token: string): CallConnector {
  return async (name, { body, ...input } = {}) => {
    const endpoint: EndpointDefinition = CONNECTOR_ENDPOINTS[name];
    const response = await fetch(`${url}${fillAddress(endpoint, input)}`, {
      method: endpoint.method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).catch((error: unknown) => {
      throw explainNoAnswer(url, error);
    });
    const answer: unknown = await response.json().catch(() => null);
    if (!response.ok) throw explainRefusal(url, response, answer);
    const read = endpoint.answers[0]?.schema?.safeParse(answer);
    if (read?.success !== true) throw notOfThisVersion(url, response.status);
    return read.data as never;
  };
}

function explainNoAnswer(url: string, error: unknown): Error {
  const { name, message, cause } = error as Error & { cause?: { code?: string } };
  if (name === 'TimeoutError')
    return new Error(`The connector at ${url} did not answer within ${DEADLINE_MS / 1_000} s.`);
  return new Error(`No connector answers at ${url} (${cause?.code ?? message}). Is --connector its address?`);
}

function explainRefusal(url: string, { status, headers }: Response, answer: unknown): Error {
  const target = status < 400 ? URL.parse(headers.get('location') ?? '', url) : null;
  if (target !== null)
    return new Error(`The server at ${url} redirects to ${target.origin}. Is --connector its address?`);
  const refusal = connectorErrorBody.safeParse(answer).data;
  if (refusal === undefined) return notOfThisVersion(url, status);
  if (refusal.error === 'unauthorized')
    return new Error(
      `The connector at ${url} does not accept the token. Use its CONNECTOR_API_TOKEN, or one of its CONNECTOR_API_TOKENS.`,
    );
  return new Error(`${refusal.error}: ${refusal.message}`);
}

function notOfThisVersion(url: string, status: number): Error {
  return new Error(`The server at ${url} is not a connector of this version: it returned status ${status}.`);
}
