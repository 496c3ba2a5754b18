import { FAULT_ACTIONS } from '../../../../../src/contract/sandbox/fault-actions.ts';
import type {
  FaultAction,
  FaultActionType,
  FaultRule,
  FaultRuleRequest,
  FaultSurface,
} from '../../../../../src/contract/sandbox/faults.ts';
import { quoteValue } from '../../../../../src/contract/sandbox/quote-value.ts';

/** Rules that are armed together, by one button. */
export interface Preset {
  readonly label: string;
  /** What happens, in a sentence. */
  readonly says: string;
  readonly rules: readonly FaultRuleRequest[];
}

const webhook = { surface: 'webhook' } as const;
const api = { surface: 'api' } as const;

export const PRESETS: readonly Preset[] = [
  {
    label: 'Lossy 10 %',
    says: 'One event in ten is never delivered.',
    rules: [{ id: 'lossy', match: webhook, action: { type: 'drop' }, probability: 0.1, per: 'event' }],
  },
  {
    label: 'Duplicate storm',
    says: 'Each webhook arrives six times.',
    rules: [{ id: 'duplicates', match: webhook, action: { type: 'duplicate', times: 5 } }],
  },
  {
    label: 'Reorder',
    says: 'Half of the events arrive too late.',
    rules: [{ id: 'reorder', match: webhook, action: { type: 'reorder' }, probability: 0.5 }],
  },
  {
    label: 'Slow webhooks',
    says: 'Half of each body arrives 4 s later.',
    rules: [{ id: 'slow', match: webhook, action: { type: 'slow', ms: 4_000 } }],
  },
  {
    label: 'Outage',
    says: 'No call is answered, no webhook sent.',
    rules: [
      { id: 'outage-calls', match: api, action: { type: 'reset' } },
      { id: 'outage-webhooks', match: webhook, action: { type: 'drop' } },
    ],
  },
  {
    label: '429 burst',
    says: 'The next 10 calls fail with 429.',
    rules: [
      {
        id: 'burst',
        match: api,
        action: { type: 'status', code: 429, error: 'rate_limited', retryAfter: 1 },
        first: 10,
      },
    ],
  },
];

export const SURFACES = {
  webhook: 'Webhooks',
  api: 'Calls to the API',
  oauth: 'OAuth and tools',
} as const satisfies Readonly<Record<FaultSurface, string>>;

/** Where a surface can be limited: fields of `match`. */
export const MATCHES = {
  webhook: ['event', 'connectionId', 'workspaceId'],
  api: ['method', 'path', 'workspaceId'],
  oauth: ['method', 'path'],
} as const satisfies Readonly<Record<FaultSurface, readonly string[]>>;

/** The fields of an action besides its type. */
export const PARAMETERS: Readonly<Partial<Record<FaultActionType, readonly string[]>>> = {
  duplicate: ['times'],
  delay: ['ms'],
  slow: ['ms'],
  stale_timestamp: ['byMs'],
  status: ['code', 'error', 'retryAfter'],
};

export const LABELS: Readonly<Record<string, string>> = {
  times: 'Extra copies',
  ms: 'Milliseconds',
  byMs: 'Age in milliseconds',
  code: 'Status',
  error: 'Error code',
  retryAfter: 'Retry-After in s',
  event: 'Event',
  connectionId: 'Connection',
  workspaceId: 'Workspace',
  method: 'Method',
  path: 'Path',
};

export const actionsOf = (surface: FaultSurface): readonly FaultActionType[] => FAULT_ACTIONS[surface];

const TEXTS: ReadonlySet<string> = new Set(['id', 'action.error']);

/**
 * The fields of a form as the body of `POST /faults`: `match.path` is `path` of `match`, empty ones are left out, and
 * numbers are numbers. What is not one is sent as it is, for the server to refuse.
 */
export function readRule(fields: Iterable<readonly [string, unknown]>): FaultRuleRequest {
  const rule: { [key: string]: unknown; match: Record<string, unknown>; action: Record<string, unknown> } = {
    match: {},
    action: {},
  };
  for (const [name, given] of fields) {
    const text = String(given).trim();
    if (text === '') continue;
    const value = !TEXTS.has(name) && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    const [key = '', part] = name.split('.');
    if (part === undefined) rule[key] = value;
    else (key === 'match' ? rule.match : rule.action)[part] = name.startsWith('match.') ? text : value;
  }
  return rule as unknown as FaultRuleRequest;
}

function describeAction(action: FaultAction): string {
  const { type, ...given } = action;
  const values = Object.entries(given).map(([key, value]) => `${key} ${value}`);
  return [type.replaceAll('_', ' '), ...values].join(', ');
}

/** What a rule does to what, in a few words. */
export function describeRule({ match, action, first, probability, per }: FaultRuleRequest): string {
  const { surface, ...limits } = match;
  const words = [SURFACES[surface], ...Object.values(limits), describeAction(action)];
  if (first !== undefined) words.push(`first ${first}`);
  if (probability !== undefined) words.push(`${Number((probability * 100).toFixed(2))} %`);
  if (per === 'event') words.push('all attempts of an event');
  return words.join(' · ');
}

/** Where to see what a rule has hit. */
export function hitsOf({ id, match: { surface } }: FaultRule) {
  return {
    to: surface === 'webhook' ? '/deliveries' : '/calls',
    search: { q: `fault:${quoteValue(id)}` },
  } as const;
}
