import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { IHookFunctions, IWebhookFunctions } from 'n8n-workflow';
import { serve } from '../../../test/support/serve.ts';
import { MessagingConnectorTrigger } from '../src/MessagingConnectorTrigger.node.ts';

/** What the workflow gets of one change. */
export interface Item {
  readonly key: string;
  readonly attempt: number;
  readonly change: {
    readonly seq: number;
    readonly type: string;
    readonly data: { readonly text?: string | null };
  };
}

/** A workflow with the trigger in a place of n8n: the published one, or one that listens for a test. */
export interface HostedTrigger {
  readonly url: string;
  readonly items: Item[];
  /** What the node remembers. */
  memory: Record<string, unknown>;
  parameters: Record<string, unknown>;
  /** What the workflow does with the items; what it throws, it fails with. */
  work: (items: readonly Item[]) => void;
  activate(): Promise<void>;
  deactivate(): Promise<void>;
}

/** A body that is not JSON remains a text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Does for the trigger what n8n does: calls its hooks in the same order, and its `webhook` with the raw body. */
export async function hostTriggers(connector: { readonly url: string; readonly token: string }) {
  const { webhookMethods, webhook } = new MessagingConnectorTrigger();
  const hosted = new Map<
    string,
    (body: Buffer, response: ServerResponse, headers: object) => Promise<void>
  >();
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const receive = hosted.get(request.url ?? '');
    if (receive === undefined) response.writeHead(404).end();
    else await receive(body, response, request.headers);
  });
  const { url: origin, close } = await serve(server);

  /** Headers that a proxy before the connector removes from its answers. */
  const removed = new Set<string>();

  /** As axios does, with the settings that the node gives. Lists have pages of one. */
  const request: IHookFunctions['helpers']['httpRequestWithAuthentication'] = async (_name, options) => {
    const answer = await fetch(`${options.baseURL}${options.url}`.replace('limit=1000', 'limit=1'), {
      method: options.method ?? 'GET',
      headers: { authorization: `Bearer ${connector.token}`, 'content-type': 'application/json' },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    });
    return {
      statusCode: answer.status,
      headers: Object.fromEntries([...answer.headers].filter(([name]) => !removed.has(name))),
      body: parse(await answer.text()),
    };
  };

  function host(path: string): HostedTrigger {
    const common = {
      getWorkflowStaticData: () => trigger.memory,
      getNodeParameter: (name: string, fallback: unknown) => trigger.parameters[name] ?? fallback,
    };
    const hooks: IHookFunctions = {
      ...common,
      getNodeWebhookUrl: () => `${origin}${path}`,
      getCredentials: async <T>() => ({ url: connector.url }) as T,
      helpers: { httpRequestWithAuthentication: request },
    };
    const trigger: HostedTrigger = {
      ...{ url: `${origin}${path}`, items: [], memory: {}, parameters: {}, work: () => undefined },
      async activate() {
        const { checkExists, create } = webhookMethods.default;
        hosted.set(path, receive);
        if (!(await checkExists.call(hooks))) await create.call(hooks);
      },
      async deactivate() {
        await webhookMethods.default.delete.call(hooks);
        hosted.delete(path);
      },
    };
    async function receive(rawBody: Buffer, response: ServerResponse, headers: object): Promise<void> {
      const answer: ReturnType<IWebhookFunctions['getResponseObject']> = {
        status(code) {
          response.statusCode = code;
          return answer;
        },
        set(name, value) {
          response.setHeader(name, value);
          return answer;
        },
        end: () => void response.end(),
      };
      const context = {
        ...common,
        getRequestObject: () => ({ headers, rawBody }),
        getResponseObject: () => answer,
      } as IWebhookFunctions;
      const { workflowData, noWebhookResponse } = await webhook.call(context);
      if (noWebhookResponse === true) return;
      const items = (workflowData?.[0] ?? []).map(({ json }) => json as unknown as Item);
      try {
        trigger.work(items);
        trigger.items.push(...items);
        response.writeHead(200).end();
      } catch {
        response.writeHead(500).end();
      }
    }
    return trigger;
  }

  return { host, removed, close };
}
