import { createHash } from 'node:crypto';
import type {
  IHookFunctions,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from 'n8n-workflow';
import { callConnector, listConnections } from './connector-call.ts';
import { CHANGES, SHARED } from './description.ts';
import { isSigned } from './signature.ts';

/** What the node remembers: the secret of its consumer while that exists, then where to continue. */
interface Memory {
  secret?: string | undefined;
  from?: number | string;
  /** The feed of a number: in another one, it would be that of another change. Then what has changed since is received. */
  feedId?: string | undefined;
  since?: string;
}
/** n8n keeps it apart for a test run. */
const memoryOf = (context: IHookFunctions | IWebhookFunctions): Memory =>
  context.getWorkflowStaticData('node');

/** Answers with the end of the feed. */
const LATEST = '/v1/changes?after=latest';

/** The connector waits as long while n8n has not stored the secret yet. */
const RETRY_AFTER_SECONDS = '2';

/** Each URL has a consumer of its own, so that a test run, or a copy of this n8n, takes nobody's place. */
function consumerOf(context: IHookFunctions) {
  const url = context.getNodeWebhookUrl('default') ?? '';
  const name = `n8n-${createHash('sha256').update(url).digest('hex').slice(0, 16)}`;
  return { url, name, path: `/v1/consumers/${name}`, memory: memoryOf(context) };
}

/** When the oldest change was made that failed in all attempts; none if there is no such change. */
async function oldestLetter(context: IHookFunctions, consumer: string): Promise<string | undefined> {
  let oldest: string | undefined;
  let cursor = '';
  do {
    const path = `/v1/dead-letters?consumer=${consumer}&limit=1000${cursor}`;
    const { deadLetters = [], nextCursor } = (await callConnector(context, ['GET', path])).body;
    oldest = deadLetters.at(-1)?.change.at ?? oldest;
    cursor = nextCursor == null ? '' : `&cursor=${encodeURIComponent(nextCursor)}`;
  } while (cursor !== '');
  return oldest;
}

/** An empty list would be refused: it passes nothing. */
const withoutEmpty = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0));

/** Starts a workflow with changes of the connector, which it receives as an HTTP consumer. */
export class MessagingConnectorTrigger implements INodeType {
  description: INodeTypeDescription = {
    ...SHARED,
    displayName: 'Messaging Connector Trigger',
    name: 'messagingConnectorTrigger',
    group: ['trigger'],
    description: 'Starts the workflow when messages, statuses, connections or sends change',
    defaults: { name: 'Messaging Connector Trigger' },
    inputs: [],
    webhooks: [
      {
        name: 'default',
        httpMethod: 'POST',
        path: 'changes',
        responseMode: '={{$parameter["responseMode"]}}',
        responseData: 'noData',
      },
    ],
    properties: CHANGES,
  };

  methods = { loadOptions: { listConnections } };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { path, memory } = consumerOf(this);
        if (memory.secret === undefined) return false;
        return (await callConnector(this, ['GET', path], 404)).statusCode === 200;
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const { url, name, path, memory } = consumerOf(this);
        const filter = withoutEmpty(this.getNodeParameter('filter', {}) as object);
        const settings = { url, filter, ...(this.getNodeParameter('options', {}) as object) };
        const { feedId, lastSeq = 0 } = (await callConnector(this, ['GET', LATEST])).body;
        const known: Memory = this.getNodeParameter('continues', true) ? memory : {};
        const isOther = known.feedId !== undefined && known.feedId !== feedId;
        const from = (isOther ? known.since : known.from) ?? 'now';
        const consumer = { name, kind: 'http', ...settings };
        let answer = await callConnector(this, ['POST', '/v1/consumers', { ...consumer, from }], 400, 409);
        if (answer.statusCode === 400) {
          // Its changes were deleted, or it is a number of another feed. What else is wrong is so again.
          const isPlace = answer.body.message?.startsWith('from:');
          const other = Number(from) <= lastSeq ? 'beginning' : 'now';
          const again = { ...consumer, from: isPlace ? other : from };
          answer = await callConnector(this, ['POST', '/v1/consumers', again], 409);
        }
        if (answer.statusCode === 409) {
          // It was not removed, and nobody knows its secret.
          await callConnector(this, ['PATCH', path, settings]);
          answer = await callConnector(this, ['POST', `${path}/rotate-secret`, { compromised: true }]);
        }
        memory.secret = answer.body.secret;
        for (const field of ['from', 'feedId', 'since'] as const) delete memory[field];
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const { name, path, memory } = consumerOf(this);
        const { feedId, lastSeq = 0 } = (await callConnector(this, ['GET', LATEST])).body;
        const { body, headers } = await callConnector(this, ['GET', path], 404);
        // Asked after the consumer, so that a change that fails in between is among those that waited.
        const letter = await oldestLetter(this, name);
        await callConnector(this, ['DELETE', path], 404);
        delete memory.secret;
        if (body.lag === undefined) return true;
        const now = Date.parse(headers.date ?? '') || Date.now();
        const times = [
          ...(body.lag.changes === 0 ? [] : [now - body.lag.seconds * 1_000]),
          ...(letter === undefined ? [] : [Date.parse(letter)]),
        ];
        if (times.length > 0) memory.from = new Date(Math.min(...times)).toISOString();
        else Object.assign(memory, { from: lastSeq + 1, feedId, since: new Date(now).toISOString() });
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = memoryOf(this);
    const { headers, rawBody } = this.getRequestObject();
    const response = this.getResponseObject();
    if (secret === undefined) {
      response.status(503).set('Retry-After', RETRY_AFTER_SECONDS).end();
      return { noWebhookResponse: true };
    }
    if (!isSigned(secret, { headers, body: rawBody, now: Date.now() })) {
      response.status(401).end();
      return { noWebhookResponse: true };
    }
    const { attempt, changes, ...single } = JSON.parse(rawBody.toString());
    const entries: readonly object[] = changes ?? [single];
    return { workflowData: [entries.map((entry) => ({ json: { ...entry, attempt } }))] };
  }
}
