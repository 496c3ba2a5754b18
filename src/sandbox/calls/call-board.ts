import type { ApiCall } from '../../contract/sandbox/calls.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { matchesPath } from '../control/match-path.ts';
import { pageOf } from '../control/page-cursor.ts';
import type { TouchedRecord } from '../faults/around-calls.ts';

/** About a kilobyte each. They explain what just happened, so they need not outlive the process. */
const MAX_CALLS = 5_000;

/** Which calls to list; absent fields match all. `before` is a position: only older ones. */
export interface CallFilter {
  readonly code?: string;
  /** May end in `*`. */
  readonly path?: string;
  readonly workspaceId?: string;
  readonly before?: number;
  readonly limit: number;
}

/** The latest calls to the service, with the reason for each answer. */
export interface CallBoard {
  /** Takes a call in. */
  onCall(call: TouchedRecord): void;
  /** A page, newest first. */
  list(filter: CallFilter): { entries: ApiCall[]; nextCursor?: string };
  /** Tells of each call from now on; the answer ends it. */
  onEntry(listener: (entry: ApiCall) => void): () => void;
  /** Forgets all calls; positions go on. */
  clear(): void;
}

interface Numbered {
  readonly position: number;
  readonly entry: ApiCall;
}

function present(call: TouchedRecord, position: number): ApiCall {
  const { at, method, path, tool, credentialId, workspaceId, status, code, ms, trace, faults } = call;
  return {
    id: String(position),
    at: toIso(at),
    method,
    path,
    ...(tool === undefined ? {} : { tool }),
    credential: credentialId,
    workspaceId,
    status,
    code,
    ms: Math.round(ms * 10) / 10,
    trace: trace.map((step) => ({ ...step })),
    ...(faults.length === 0 ? {} : { faults: [...faults] }),
  };
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

    list({ code, path, workspaceId, before = Number.POSITIVE_INFINITY, limit }) {
      const fits = ({ position: at, entry }: Numbered): boolean =>
        at < before &&
        (code === undefined || entry.code === code) &&
        (path === undefined || matchesPath(path, entry.path)) &&
        (workspaceId === undefined || entry.workspaceId === workspaceId);
      const newestFirst = kept.slice(-most).reverse().filter(fits);
      return pageOf(
        newestFirst,
        limit,
        ({ entry }) => entry,
        (call) => call.position,
      );
    },

    onEntry(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    clear() {
      kept = [];
    },
  };
}
