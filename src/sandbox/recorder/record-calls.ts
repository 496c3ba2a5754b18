import type { Request } from 'express';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../../contract/sandbox/endpoints.ts';
import type { CauseSurface } from '../../contract/sandbox/recording.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { WatchForward } from '../../runtime/http-server/forward.ts';
import type { WatchCalls } from '../control/serve-endpoint.ts';
import type { FlightRecorder } from './flight-recorder.ts';

/** Calls that are not `GET` and change nothing that a replay could repeat. A reset begins a recording. */
const NO_CAUSE: readonly SandboxEndpointName[] = [
  'reset',
  'wait',
  'verify',
  'explainSignature',
  'tryAddress',
  // A snapshot contains the recording that led to it.
  'takeSnapshot',
  'restoreSnapshot',
  'removeSnapshot',
];

/** The header that selects the workspace whose API key `/service` uses. */
export const WORKSPACE_HEADER = 'x-workspace-id';

export interface RecordCallsOptions {
  readonly recorder: FlightRecorder;
  /** Virtual time, in epoch milliseconds. */
  readonly now: () => number;
}

/** What the sandbox's port calls so that each call that changes something is recorded. */
export function recordCalls({ recorder, now }: RecordCallsOptions): {
  readonly watch: WatchCalls;
  readonly watchForward: Readonly<Record<Exclude<CauseSurface, 'sandbox'>, WatchForward>>;
} {
  const forwarded =
    (surface: 'service' | 'connector'): WatchForward =>
    (request) => {
      if (isRead(request)) return undefined;
      const at = toIso(now());
      const { method, url: path } = request;
      const workspaceId = request.get(WORKSPACE_HEADER);
      return (body, answer) =>
        recorder.add({
          at,
          surface,
          method,
          path,
          ...(surface === 'connector' || workspaceId === undefined ? {} : { workspaceId }),
          ...(body === '' ? {} : { body: parse(body) }),
          answer: parse(answer),
        });
    };
  return {
    watch(name, request) {
      if (SANDBOX_ENDPOINTS[name].method === 'GET' || NO_CAUSE.includes(name)) return () => undefined;
      const at = toIso(now());
      const { method, url: path, body } = request;
      return (answer) =>
        recorder.add({
          at,
          surface: 'sandbox',
          method,
          path,
          ...(body === undefined ? {} : { body }),
          answer,
        });
    },
    watchForward: { service: forwarded('service'), connector: forwarded('connector') },
  };
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The JSON of a body; null if it is not JSON or too long to keep. */
function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}
