import type {
  FaultAction,
  FaultMatch,
  FaultRuleRequest,
  Faults,
  PutFaultsRequest,
} from '../../contract/sandbox/faults.ts';
import type { ApiFault, ApiFaults } from '../../platform/rest/api-faults.ts';
import type { WebhookFault, WebhookFaults } from '../../platform/webhooks/webhook-faults.ts';
import { ActiveRule } from './fault-rule.ts';

const DEFAULT_SEED = 1;
const REORDER_MS = 2_000;
const STALE_MS = 6 * 60_000;

/** The rules in force, as the ports of the service and as the control API see them. */
export interface FaultBoard {
  readonly webhook: WebhookFaults;
  readonly api: ApiFaults;
  read(): Faults;
  /** Replaces all rules and clears their counts. */
  put(request: PutFaultsRequest): Faults;
  /** No rules, and the seed of the start. */
  clear(): Faults;
}

/** The port's fault of an action; undefined for an action of another surface. */
function toWebhookFault(action: FaultAction, name: string): WebhookFault | undefined {
  switch (action.type) {
    case 'drop':
    case 'tamper_body':
    case 'tamper_signature':
    case 'truncate':
      return { type: action.type, name };
    case 'duplicate':
      return { type: 'duplicate', times: action.times ?? 1, name };
    case 'delay':
    case 'slow':
      return { type: action.type, ms: action.ms, name };
    case 'reorder':
      return { type: 'reorder', ms: REORDER_MS, name };
    case 'stale_timestamp':
      return { type: 'stale_timestamp', ms: action.byMs ?? STALE_MS, name };
    default:
      return undefined;
  }
}

function toApiFault(action: FaultAction): ApiFault | undefined {
  switch (action.type) {
    case 'status': {
      const { type, code, error, retryAfter } = action;
      return {
        type,
        code,
        ...(error === undefined ? {} : { error }),
        ...(retryAfter === undefined ? {} : { retryAfter }),
      };
    }
    case 'reset':
    case 'not_persisted':
    case 'lost_answer':
      return { type: action.type };
    case 'delay':
      return { type: 'delay', ms: action.ms };
    default:
      return undefined;
  }
}

type MatchOf<Surface extends FaultMatch['surface']> = Extract<FaultMatch, { surface: Surface }>;

function matchesCall(
  match: MatchOf<'api'>,
  call: { readonly method: string; readonly path: string },
): boolean {
  if (match.method !== undefined && match.method !== call.method) return false;
  if (match.path === undefined) return true;
  if (match.path.endsWith('*')) return call.path.startsWith(match.path.slice(0, -1));
  return call.path === match.path;
}

export function createFaultBoard(): FaultBoard {
  let seed = DEFAULT_SEED;
  let rules: readonly ActiveRule[] = [];

  const replace = (next: readonly FaultRuleRequest[]): Faults => {
    rules = next.map((rule) => new ActiveRule(rule, seed));
    return read();
  };
  const read = (): Faults => ({ seed, rules: rules.map((rule) => rule.view) });

  return {
    webhook: {
      decide(event, attempt) {
        if (rules.length === 0) return [];
        const faults: WebhookFault[] = [];
        for (const active of rules) {
          const { match, action, id } = active.rule;
          if (match.surface !== 'webhook') continue;
          if (match.event !== undefined && match.event !== event.event) continue;
          if (match.connectionId !== undefined && match.connectionId !== event.connectionId) continue;
          const fault = toWebhookFault(action, id);
          if (fault !== undefined && active.hitsAttempt(event.id, attempt)) faults.push(fault);
        }
        return faults;
      },
    },
    api: {
      decide(call) {
        const faults: ApiFault[] = [];
        for (const active of rules) {
          const { match, action } = active.rule;
          if (match.surface !== 'api' || !matchesCall(match, call)) continue;
          const fault = toApiFault(action);
          if (fault !== undefined && active.hitsCall()) faults.push(fault);
        }
        return faults;
      },
    },
    read,
    put(request) {
      seed = request.seed ?? seed;
      return replace(request.rules);
    },
    clear() {
      seed = DEFAULT_SEED;
      return replace([]);
    },
  };
}
