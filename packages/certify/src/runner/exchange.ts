/** A request and its response, as sent and received. Not for reports: see `describeExchange`. */
export interface Exchange {
  /** Description of its credential. */
  readonly as: string;
  readonly method: string;
  /** Relative to the base address, including the query. */
  readonly path: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  readonly ms: number;
}

/** An exchange as shown in a report: without credentials, secrets, message texts and QR codes. */
export interface Evidence {
  readonly request: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody?: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly ms: number;
}

/** Response headers that a rule mentions. */
const SHOWN_HEADERS = [
  'content-type',
  'www-authenticate',
  'retry-after',
  'idempotency-replayed',
  'allow',
  'location',
];
const LONGEST_BODY = 1200;
/** Values that are irrelevant to a rule and may be personal. */
const PRIVATE_FIELDS = new Set([
  'text',
  'caption',
  'label',
  'name',
  'secret',
  'code',
  // The address grants access to the file.
  'mediaUrl',
  'media_url',
]);
const LONG_VALUE = 200;

/**
 * Prepares an exchange for a report. `hide` removes credentials from a text. `showsBytes` shows the body of the request
 * as it was sent.
 */
export function describeExchange(
  exchange: Exchange,
  hide: (text: string) => string,
  full: boolean,
  showsBytes = false,
): Evidence {
  const { as, method, path, requestBody, status, ms } = exchange;
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = exchange.headers.get(name);
    return value === null ? [] : [[name, hide(value).slice(0, LONG_VALUE)] as const];
  });
  const asked = Object.entries(exchange.requestHeaders).filter(([name]) => name !== 'authorization');
  const body = exchange.text === '' ? undefined : describeBody(exchange.text, exchange.json, hide);
  return {
    request: hide(`${method} ${path} (${as})`),
    requestHeaders: Object.fromEntries(asked.map(([name, value]) => [name, shorten(hide(value))])),
    ...(full && requestBody !== undefined
      ? { requestBody: describeBody(requestBody, showsBytes ? undefined : parseJson(requestBody), hide) }
      : {}),
    status,
    headers: full ? Object.fromEntries(shown) : {},
    ...(full && body !== undefined ? { body } : {}),
    ms: Math.round(ms),
  };
}

/** Parses JSON; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A body for a report: private and long values are replaced by descriptions. */
export function describeBody(text: string, json: unknown, hide: (text: string) => string): string {
  const described =
    json === undefined ? text : JSON.stringify(json, (key, value) => describeValue(key, value));
  const safe = hide(described ?? '');
  return safe.length > LONGEST_BODY ? `${safe.slice(0, LONGEST_BODY)}… (${safe.length} characters)` : safe;
}

function describeValue(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.startsWith('data:')) return `<${value.slice(5, value.indexOf(';'))}, ${value.length} characters>`;
  if (PRIVATE_FIELDS.has(key) && value !== '') return `<${value.length} characters>`;
  return shorten(value);
}

function shorten(value: string): string {
  return value.length > LONG_VALUE
    ? `${value.slice(0, LONG_VALUE / 4)}… (${value.length} characters)`
    : value;
}
