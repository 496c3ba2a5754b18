import type {
  IHookFunctions,
  IHttpRequestMethods,
  ILoadOptionsFunctions,
  INodePropertyOptions,
} from 'n8n-workflow';
import { CREDENTIALS } from './description.ts';

interface Connection {
  readonly id: string;
  readonly label: string | null;
  readonly phoneNumber: string | null;
}

/** What the nodes read of an answer. */
interface Answer {
  readonly statusCode: number;
  readonly headers: { readonly date?: string };
  readonly body: {
    readonly secret?: string;
    readonly lastSeq?: number;
    readonly feedId?: string;
    readonly connections?: readonly Connection[];
    readonly deadLetters?: readonly { readonly change: { readonly at: string } }[];
    readonly nextCursor?: string | null;
    readonly lag?: { readonly changes: number; readonly seconds: number };
    readonly error?: string;
    readonly message?: string;
  };
}

/** Calls the connector. @throws Error if the answer is an error, except with a status that is `expected` */
export async function callConnector(
  context: IHookFunctions | ILoadOptionsFunctions,
  [method, path, body]: readonly [method: IHttpRequestMethods, path: string, body?: object],
  ...expected: readonly number[]
): Promise<Answer> {
  const { url } = await context.getCredentials<{ url: string }>(CREDENTIALS);
  const answer: Answer = await context.helpers.httpRequestWithAuthentication.call(context, CREDENTIALS, {
    method,
    baseURL: url,
    url: path,
    json: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    ...(body === undefined ? {} : { body }),
  });
  const isJson = typeof answer.body === 'object' && answer.body !== null;
  if (answer.statusCode < 300 && !isJson) {
    const what = `${method} ${path} was answered with ${answer.statusCode}, but not with JSON`;
    throw new Error(`${what}. Is this the Base URL of the connector?`);
  }
  if (answer.statusCode < 300 || expected.includes(answer.statusCode)) return answer;
  const { error, message } = isJson ? answer.body : {};
  throw new Error(`The connector answered ${answer.statusCode}: ${error ?? 'no code'}. ${message ?? ''}`);
}

/** The first thousand connections, for a field that names one. */
export async function listConnections(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const { connections = [] } = (await callConnector(this, ['GET', '/v1/connections?limit=1000'])).body;
  return connections.map(({ id, label, phoneNumber }) => ({
    name: [label, phoneNumber].filter(Boolean).join(', ') || id,
    value: id,
  }));
}
