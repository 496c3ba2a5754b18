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

/** By the treatment of their values. */
const KEYS: readonly (readonly [serialize: Serializer, keys: string])[] = [
  [
    id,
    `accountId address changeId connectionId consumer id key messageId outboundId reference subscriptionId`,
  ],
  [
    word,
    `before component day errorCode errorType event fields host invalid joined kind location method of outcome reason result
     role schema scope setting signal sslmode step what who`,
  ],
  [
    number,
    `applied attempt attempts count days deadlineMs delayMs failed generation leftOut ms pid port process repaired seq total`,
  ],
  [url, 'url'],
  [error, 'err'],
];

/**
 * Every key that a log line may contain, with the treatment of its value. Anything else in a merged object is
 * omitted and only counted in `hiddenFields`. Add a key if a line needs it; never one that contains a body,
 * headers, a text, a phone number or a credential.
 */
const FIELDS: ReadonlyMap<string, Serializer> = new Map(
  KEYS.flatMap(([serialize, keys]) => keys.split(/\s+/).map((key) => [key, serialize])),
);

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
