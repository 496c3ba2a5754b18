import { describeError } from './describe-error.ts';
import { looksSecret, scrubText, scrubUrl } from './scrub-text.ts';

type Serializer = (value: unknown) => unknown;

const HIDDEN = '[hidden]';
const ID = /^[\w.:@/%-]{1,120}$/;
const LONGEST_LIST = 20;

const number: Serializer = (value) => {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? value.toString() : HIDDEN;
};

const flag: Serializer = (value) => (typeof value === 'boolean' ? value : HIDDEN);

const id: Serializer = (value) => {
  if (typeof value === 'number' || typeof value === 'bigint') return number(value);
  return typeof value === 'string' && ID.test(value) && !looksSecret(value) ? value : HIDDEN;
};

const word: Serializer = (value) => {
  if (typeof value === 'string') return scrubText(value, 200);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) {
    return value
      .slice(0, LONGEST_LIST)
      .map((item) => (typeof item === 'string' ? scrubText(item, 100) : HIDDEN));
  }
  return HIDDEN;
};

const url: Serializer = (value) =>
  typeof value === 'string' || value instanceof URL ? scrubUrl(String(value)) : HIDDEN;

const error: Serializer = (value) => describeError(value);

function all<const Key extends string>(keys: readonly Key[], serialize: Serializer): [Key, Serializer][] {
  return keys.map((key) => [key, serialize]);
}

/**
 * Every key that a log line may contain, with the treatment of its value. Anything else in a merged object is
 * omitted and only counted in `hiddenFields`. Add a key here if a line needs it; never one that contains a
 * body, headers, a text, a phone number or a credential.
 */
const FIELDS: ReadonlyMap<string, Serializer> = new Map<string, Serializer>([
  ...all(
    [
      'accountId',
      'address',
      'apiKeyId',
      'appId',
      'attemptId',
      'changeId',
      'connectionId',
      'consumer',
      'cursorId',
      'deliveryId',
      'eventId',
      'gapId',
      'grantId',
      'id',
      'jobId',
      'leaseOwner',
      'messageId',
      'outboundId',
      'owner',
      'reference',
      'requestId',
      'ruleId',
      'subscriptionId',
      'workspaceId',
    ],
    id,
  ),
  ...all(
    [
      'action',
      'backend',
      'code',
      'component',
      'database',
      'direction',
      'errorCode',
      'errorType',
      'event',
      'eventType',
      'file',
      'firstSeenBy',
      'folder',
      'host',
      'hosts',
      'kind',
      'queue',
      'location',
      'method',
      'migration',
      'mode',
      'module',
      'note',
      'outcome',
      'phase',
      'previous',
      'provider',
      'queue',
      'reason',
      'result',
      'role',
      'route',
      'schema',
      'scope',
      'setting',
      'settings',
      'signal',
      'sqlState',
      'state',
      'status',
      'step',
      'suggestion',
      'surface',
      'table',
      'version',
      'what',
      'who',
    ],
    word,
  ),
  ...all(
    [
      'applied',
      'at',
      'attempt',
      'attempts',
      'batch',
      'bytes',
      'conflicts',
      'connections',
      'count',
      'deadlineMs',
      'delayMs',
      'duplicates',
      'elapsedMs',
      'events',
      'failed',
      'generation',
      'lagMs',
      'leftOut',
      'limit',
      'ms',
      'offset',
      'open',
      'pages',
      'pid',
      'port',
      'process',
      'repaired',
      'retryAfterMs',
      'rows',
      'seq',
      'size',
      'statusCode',
      'stored',
      'total',
      'waiting',
      'watermark',
    ],
    number,
  ),
  ...all(
    ['compromised', 'connected', 'degraded', 'fatal', 'healthy', 'joined', 'ok', 'persisted', 'retryable'],
    flag,
  ),
  ...all(['baseUrl', 'url', 'webhookUrl'], url),
  ...all(['err', 'error'], error),
]);

/** The allow-listed part of a merged object or of child bindings, with each value made safe. */
export function allowFields(merged: object): Record<string, unknown> {
  const allowed: Record<string, unknown> = {};
  let hidden = 0;
  for (const key of Object.keys(merged)) {
    const serialize = FIELDS.get(key);
    if (serialize === undefined) {
      hidden += 1;
      continue;
    }
    const value: unknown = Reflect.get(merged, key);
    if (value !== undefined) allowed[key] = value === null ? null : serialize(value);
  }
  return hidden === 0 ? allowed : { ...allowed, hiddenFields: hidden };
}
