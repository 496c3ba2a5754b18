import type { ApiCall, CallKey } from '../../contract/sandbox/calls.ts';
import { type Filter, matchesFilter } from '../../contract/sandbox/filter.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageOf } from '../control/page-cursor.ts';
import type { TouchedRecord } from '../faults/around-calls.ts';

/** A few kilobytes each. They explain what just happened, so they need not outlive the process. */
const MAX_CALLS = 5_000;

/** Which calls to list. `before` is a position: only older ones. */
export interface CallFilter {
  /** Default: all. */
  readonly where?: Filter<CallKey>;
  readonly before?: number;
  readonly limit: number;
}

export interface SavedCalls {
  readonly position: number;
  readonly kept: readonly Numbered[];
}

/** The latest calls to the service, with the reason for each answer. */
export interface CallBoard {
  /** Adds a call. */
  onCall(call: TouchedRecord): void;
  /** A page, newest first. */
  list(filter: CallFilter): { entries: ApiCall[]; nextCursor?: string };
  /** A call by its position; undefined if it is not kept. */
  find(position: number): ApiCall | undefined;
  /** Calls `listener` with each new call until the returned function is called. */
  onEntry(listener: (entry: ApiCall) => void): () => void;
  /** Removes all calls; positions continue. */
  clear(): void;
  /** The calls and the last position, for `load`. */
  save(): SavedCalls;
  load(saved: SavedCalls): void;
}

interface Numbered {
  readonly position: number;
  readonly entry: ApiCall;
}

function present(call: TouchedRecord, position: number): ApiCall {
  const { at, method, path, tool, credentialId, workspaceId, status, code, ms, trace, faults } = call;
  const { connectionId, messageIds, query, requestBody, responseBody } = call;
  return {
    id: String(position),
    at: toIso(at),
    method,
    path,
    ...(query === null ? {} : { query }),
    ...(tool === undefined ? {} : { tool }),
    credential: credentialId,
    workspaceId,
    ...(connectionId === null ? {} : { connectionId }),
    ...(messageIds.length === 0 ? {} : { messageIds: [...messageIds] }),
    status,
    code,
    ms: Math.round(ms * 10) / 10,
    trace: trace.map((step) => ({ ...step })),
    ...(requestBody === null ? {} : { requestBody }),
    ...(responseBody === null ? {} : { responseBody }),
    ...(faults.length === 0 ? {} : { faults: [...faults] }),
  };
}

/** The values of a call that filters compare; for null, the texts that are searched. */
function valuesOf(call: ApiCall, key: CallKey | null): readonly string[] {
  const { method, path, code, tool, credential, workspaceId, connectionId, messageIds, status, faults } =
    call;
  const { query = '', requestBody = '', responseBody = '' } = call;
  if (key === null)
    return [
      path,
      code ?? '',
      query,
      requestBody,
      responseBody,
      ...call.trace.flatMap(({ check, why = '' }) => [check, why]),
    ];
  const value = {
    ...{ status: String(status ?? 'none'), method, path, code, tool, credential },
    ...{ workspace: workspaceId, connection: connectionId, message: messageIds, fault: faults },
  }[key];
  if (value === null || value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

export function createCallBoard(most: number = MAX_CALLS): CallBoard {
  /** Oldest first; grows to twice its size before it is cut, so that a call costs a push. */
  let kept: Numbered[] = [];
  let position = 0;
  const listeners = new Set<(entry: ApiCall) => void>();

  return {
    onCall(call) {
      position += 1;
      const entry = present(call, position);
      kept.push({ position, entry });
      if (kept.length >= 2 * most) kept = kept.slice(-most);
      for (const listener of listeners) listener(entry);
    },

    list({ where = [], before = Number.POSITIVE_INFINITY, limit }) {
      const fits = ({ position: at, entry }: Numbered): boolean =>
        at < before && matchesFilter(where, (key) => valuesOf(entry, key));
      const newestFirst = kept.slice(-most).reverse().filter(fits);
      return pageOf(
        newestFirst,
        limit,
        ({ entry }) => entry,
        (call) => call.position,
      );
    },

    find: (wanted) => kept.slice(-most).find(({ position: at }) => at === wanted)?.entry,

    onEntry(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    clear() {
      kept = [];
    },

    save: () => ({ position, kept: kept.slice(-most) }),

    load(saved) {
      ({ position } = saved);
      kept = [...saved.kept];
    },
  };
}
