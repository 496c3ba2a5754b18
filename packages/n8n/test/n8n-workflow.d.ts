/** What the nodes use of n8n. A campaign compiles them with the types of the package instead. */
import type { IncomingHttpHeaders } from 'node:http';

export type IHttpRequestMethods = 'DELETE' | 'GET' | 'PATCH' | 'POST';
interface IHttpRequestOptions {
  method?: IHttpRequestMethods;
  baseURL?: string;
  url: string;
  qs?: Record<string, unknown>;
  body?: unknown;
  json?: boolean;
  returnFullResponse?: boolean;
  ignoreHttpStatusErrors?: boolean;
}

export interface INodeProperties {
  displayName: string;
  name: string;
  type: string;
  default: unknown;
  description?: string;
  placeholder?: string;
  required?: boolean;
  noDataExpression?: boolean;
  typeOptions?: object;
  options?: object[];
  routing?: object;
}
export interface INodePropertyOptions {
  name: string;
  value: string;
}
export interface INodeTypeDescription {
  version: number;
  displayName: string;
  name: string;
  icon?: `file:${string}`;
  group: ('output' | 'trigger')[];
  description: string;
  subtitle?: string;
  defaults: { name: string };
  inputs: 'main'[];
  outputs: 'main'[];
  usableAsTool?: true;
  credentials?: { name: string; required?: boolean }[];
  requestDefaults?: { baseURL: string };
  webhooks?: {
    name: 'default';
    httpMethod: 'POST';
    path: string;
    responseMode: string;
    responseData: string;
  }[];
  properties: INodeProperties[];
}
export interface INodeType {
  description: INodeTypeDescription;
  methods?: { loadOptions: Record<string, (this: ILoadOptionsFunctions) => Promise<INodePropertyOptions[]>> };
  webhookMethods?: {
    default: Record<'checkExists' | 'create' | 'delete', (this: IHookFunctions) => Promise<boolean>>;
  };
  webhook?(this: IWebhookFunctions): Promise<IWebhookResponseData>;
}

export interface IAuthenticateGeneric {
  type: 'generic';
  properties: { headers: Record<string, string> };
}
export interface ICredentialTestRequest {
  request: Omit<IHttpRequestOptions, 'method'>;
}
export interface ICredentialType {
  name: string;
  displayName: string;
  icon?: `file:${string}`;
  properties: INodeProperties[];
  authenticate?: IAuthenticateGeneric;
  test?: ICredentialTestRequest;
}

interface Functions {
  getWorkflowStaticData(type: 'node'): Record<string, unknown>;
  getNodeParameter(name: string, fallback: unknown): unknown;
}
export interface ILoadOptionsFunctions {
  getCredentials<T extends object>(type: string): Promise<T>;
  helpers: {
    httpRequestWithAuthentication(
      this: ILoadOptionsFunctions,
      credentials: string,
      options: IHttpRequestOptions,
      // As n8n has it.
      // biome-ignore lint/suspicious/noExplicitAny: the node says what it reads
    ): Promise<any>;
  };
}
export interface IHookFunctions extends Functions, ILoadOptionsFunctions {
  getNodeWebhookUrl: (name: 'default') => string | undefined;
}
/** Its URL is that of production in a test run as well. */
export interface IWebhookFunctions extends Functions {
  getRequestObject(): { headers: IncomingHttpHeaders; rawBody: Buffer };
  getResponseObject(): {
    status(code: number): ReturnType<IWebhookFunctions['getResponseObject']>;
    set(name: string, value: string): ReturnType<IWebhookFunctions['getResponseObject']>;
    end(): void;
  };
}
export interface IWebhookResponseData {
  noWebhookResponse?: boolean;
  workflowData?: { json: Record<string, unknown> }[][];
}
