import type {
  FaultMatch,
  FaultRuleRequest,
  Faults,
  PutFaultsRequest,
} from '../../contract/sandbox/faults.ts';
import type { ApiFaults, Fault, WebhookFaults } from './fault.ts';
import { ActiveRule, type SavedRule } from './fault-rule.ts';

const DEFAULT_SEED = 1;
/** Replaced rules that are kept. The attempts of an event end within seconds, so few are needed. */
const MAX_RETIRED = 100;

export interface SavedFaults {
  readonly seed: number;
  readonly rules: readonly SavedRule[];
}

/** What a rule does, under its name. */
function faultOf({ id, action }: FaultRuleRequest): Fault {
  return { ...action, name: id };
}

function matchesEvent(
  match: FaultMatch,
  event: { readonly event: string; readonly connectionId: string; readonly workspaceId: string },
): boolean {
  if (match.surface !== 'webhook') return false;
  if (match.event !== undefined && match.event !== event.event) return false;
  if (match.workspaceId !== undefined && match.workspaceId !== event.workspaceId) return false;
  return match.connectionId === undefined || match.connectionId === event.connectionId;
}

/** Whether a path matches a pattern: exactly, or its beginning if the pattern ends in `*`. */
function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

function matchesCall(
  surface: 'api' | 'oauth',
  match: FaultMatch,
  call: { readonly method: string; readonly path: string },
): boolean {
  if (match.surface !== surface) return false;
  if (match.method !== undefined && match.method !== call.method) return false;
  return match.path === undefined || matchesPath(match.path, call.path);
}

/** The workspace that a rule matches; undefined: all. */
function workspaceOf(match: FaultMatch): string | undefined {
  return 'workspaceId' in match ? match.workspaceId : undefined;
}

export type FaultBoard = ReturnType<typeof createFaultBoard>;

/** The active rules, for the ports of the service and for the control API. */
export function createFaultBoard() {
  let seed = DEFAULT_SEED;
  let rules: readonly ActiveRule[] = [];
  /** Replaced rules that decide once per event: their decisions apply to the event's remaining attempts. */
  let retired: readonly ActiveRule[] = [];

  const replace = (next: readonly ActiveRule[]): Faults => {
    const replaced = rules.filter((active) => active.rule.per === 'event' && !next.includes(active));
    retired = [...replaced, ...retired].slice(0, MAX_RETIRED);
    rules = next;
    return read();
  };
  const without = (id: string): readonly ActiveRule[] => rules.filter(({ rule }) => rule.id !== id);
  const read = (): Faults => ({ seed, rules: rules.map((rule) => rule.view) });

  const callFaults = (surface: 'api' | 'oauth'): ApiFaults => ({
    async decide(call) {
      const candidates = rules.filter(({ rule }) => matchesCall(surface, rule.match, call));
      // Looked up once, and only if a rule needs it.
      const isAsked = candidates.some(({ rule }) => workspaceOf(rule.match) !== undefined);
      const workspaceId = isAsked ? await call.workspaceId?.() : undefined;
      return candidates
        .filter(({ rule }) => [undefined, workspaceId].includes(workspaceOf(rule.match)))
        .filter((active) => active.hitsCall())
        .map(({ rule }) => faultOf(rule));
    },
  });

  const webhook: WebhookFaults = {
    decide(event, attempt) {
      const hit = rules
        .filter(({ rule }) => matchesEvent(rule.match, event))
        .filter((active) => active.hitsAttempt(event.eventId, attempt));
      const earlier = attempt === 1 ? [] : retired.filter(({ hasHit }) => hasHit(event.eventId));
      return [...hit, ...earlier].map(({ rule }) => faultOf(rule));
    },
  };

  return {
    webhook,
    api: callFaults('api'),
    /** For calls to the authorization server. */
    oauth: callFaults('oauth'),
    read,
    /** Replaces all rules and clears their counts. */
    put(request: PutFaultsRequest): Faults {
      seed = request.seed ?? seed;
      return replace(request.rules.map((rule) => new ActiveRule(rule, seed)));
    },
    /** Adds a rule, in place of an active one with its id. The others keep their counts. */
    add: (rule: FaultRuleRequest) => replace([...without(rule.id), new ActiveRule(rule, seed)]),
    /** Removes a rule. The others keep their counts. Null for an unknown id. */
    remove: (id: string) => (without(id).length === rules.length ? null : replace(without(id))),
    /** Removes all rules and restores the initial seed. */
    clear(): Faults {
      seed = DEFAULT_SEED;
      return replace([]);
    },
    /** The rules with their counts, for `load`. */
    save: (): SavedFaults => ({ seed, rules: rules.map((active) => active.save()) }),
    load(saved: SavedFaults): void {
      seed = saved.seed;
      rules = saved.rules.map(ActiveRule.load);
    },
    /** The same after a reset of the service: event ids start again, so decisions for earlier ids are discarded. */
    reset(): void {
      seed = DEFAULT_SEED;
      rules = [];
      retired = [];
    },
  };
}
