import type { ApiCall, CallKey } from '../../contract/sandbox/calls.ts';
import { type Filter, matchesFilter } from '../../contract/sandbox/filter.ts';
import { listedText } from '../../platform/kernel/recorded-text.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageOf } from '../control/page-cursor.ts';
import type { TouchedRecord } from '../faults/around-calls.ts';

/** They explain what just happened, so they need not outlive the process. */
const LIMITS: CallLimits = { calls: 5_000, characters: 24 * 1024 * 1024 };

export interface CallLimits {
  readonly calls: number;
  /** Of the queries and bodies of all kept calls together. */
  readonly characters: number;
}

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

/** What lists and streams show of a call. */
function listed({ query, requestBody, responseBody, ...call }: ApiCall): ApiCall {
  return {
    ...call,
    ...(query === undefined ? {} : { query: listedText(query) }),
    ...(requestBody === undefined ? {} : { requestBody: listedText(requestBody) }),
    ...(responseBody === undefined ? {} : { responseBody: listedText(responseBody) }),
  };
}

const sizeOf = ({ entry: { query = '', requestBody = '', responseBody = '' } }: Numbered): number =>
  query.length + requestBody.length + responseBody.length;

export type CallBoard = ReturnType<typeof createCallBoard>;

/** The latest calls to the service, with the reason for each answer. */
export function createCallBoard(limits: CallLimits = LIMITS) {
  /** Oldest first; grows to twice its limits before it is cut, so that a call costs a push. */
  let kept: Numbered[] = [];
  let characters = 0;
  let position = 0;
  const listeners = new Set<(entry: ApiCall) => void>();

  /** The newest calls within both limits. */
  const newest = (): Numbered[] => {
    let room = limits.characters;
    const isTooMuch = (call: Numbered): boolean => {
      room -= sizeOf(call);
      return room < 0;
    };
    return kept.slice(Math.max(kept.findLastIndex(isTooMuch) + 1, kept.length - limits.calls));
  };
  const keep = (calls: readonly Numbered[]): void => {
    kept = [...calls];
    characters = kept.reduce((sum, call) => sum + sizeOf(call), 0);
  };

  return {
    onCall(record: TouchedRecord): void {
      position += 1;
      const entry = present(record, position);
      const call: Numbered = { position, entry };
      kept.push(call);
      characters += sizeOf(call);
      if (kept.length >= 2 * limits.calls || characters >= 2 * limits.characters) keep(newest());
      for (const listener of listeners) listener(listed(entry));
    },

    /** A page, newest first, with the beginnings of queries and bodies. */
    list({ where = [], before = Number.POSITIVE_INFINITY, limit }: CallFilter) {
      const fits = ({ position: at, entry }: Numbered): boolean =>
        at < before && matchesFilter(where, (key) => valuesOf(entry, key));
      const newestFirst = newest().reverse().filter(fits);
      return pageOf(
        newestFirst,
        limit,
        ({ entry }) => listed(entry),
        (call) => call.position,
      );
    },

    /** A whole call by its position; undefined if it is not kept. */
    find: (wanted: number) => newest().find(({ position: at }) => at === wanted)?.entry,

    /** Calls `listener` with each new call, as it is listed, until the returned function is called. */
    onEntry(listener: (entry: ApiCall) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** Removes all calls; positions continue. */
    clear: () => keep([]),

    /** The calls and the last position, for `load`. */
    save: (): SavedCalls => ({ position, kept: newest() }),

    load(saved: SavedCalls): void {
      ({ position } = saved);
      keep(saved.kept);
    },
  };
}
