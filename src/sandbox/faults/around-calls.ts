import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request, Response } from 'express';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { ERROR_CODES, ERRORS, type ErrorCode, isErrorCode } from '../../contract/service/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { type Answer, refusal, writeAnswer } from '../../platform/calls/answer.ts';
import type { CallRecord } from '../../platform/calls/call-record.ts';
import type { AroundCall, IncomingCall } from '../../platform/calls/call-shell.ts';
import type { CheckStep } from '../../platform/kernel/decision-trace.ts';
import { PlatformError } from '../../platform/kernel/platform-error.ts';
import type { IsStored } from '../../platform/messages/execute-send.ts';
import { jsonAnswer } from '../../platform/oauth/oauth-answer.ts';
import { type ApiFaults, type Fault, findFault } from './fault.ts';

/** Error codes that any endpoint may return. */
const GENERAL: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_key',
  'insufficient_scope',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
  'rate_limited',
];

/**
 * The error code for a status at an endpoint with these errors, if the fault has none: one of the endpoint's, otherwise
 * a general one. Undefined if there is neither.
 */
export function usualError(status: number, errors: readonly ErrorCode[]): ErrorCode | undefined {
  const stands = (code: ErrorCode): boolean => ERRORS[code].statuses.some((known) => known === status);
  const own = ERROR_CODES.find((code) => errors.includes(code) && stands(code));
  return own ?? GENERAL.find(stands) ?? (status >= 500 ? 'internal_error' : undefined);
}

/** The error code for a status of the authorization server. */
function usualAuthError(status: number): string {
  if (status === 503 || status === 429) return 'temporarily_unavailable';
  if (status === 401) return 'invalid_client';
  return status < 500 ? 'invalid_request' : 'server_error';
}

/** The errors of the endpoint of an API call; empty if there is no such endpoint. */
function errorsOf({ method, path }: Request): readonly ErrorCode[] {
  const endpoint = Object.values(SERVICE_ENDPOINTS).find((known) => {
    const pattern = known.path.replaceAll(/\{\w+\}/g, '[^/]+');
    return known.method === method && new RegExp(`^${pattern}$`).test(path);
  });
  return endpoint?.errors ?? [];
}

/** The answer of a fault, with the body and headers of the service's own refusals. */
function makeUp(
  { surface, request }: IncomingCall,
  fault: Extract<Fault, { type: 'status' }>,
): Answer & { readonly code: string } {
  const { code: status, error, retryAfter } = fault;
  const retry = retryAfter === undefined ? {} : { [HEADERS.retryAfter]: String(retryAfter) };
  if (surface === 'oauth') {
    const code = error ?? usualAuthError(status);
    const body = { error: code, error_description: 'a fault of the sandbox' };
    return { ...jsonAnswer(status, body, retry), code };
  }
  const code = error ?? usualError(status, errorsOf(request)) ?? 'invalid_request';
  const { body, headers } = isErrorCode(code)
    ? refusal(new PlatformError(code))
    : { body: { error: code }, headers: {} };
  return { status, body, headers: { ...headers, ...retry }, code };
}

/** Resets the connection instead of sending the answer. */
function loseAnswer(response: Response): void {
  const reset = (): Response => {
    response.socket?.resetAndDestroy();
    return response;
  };
  response.writeHead = () => response;
  response.flushHeaders = () => undefined;
  response.write = () => true;
  response.end = reset;
}

/** The faults of a call in progress, for its record and for the storing of its message. */
interface TouchedCall {
  readonly faults: readonly Fault[];
  /** True if the client receives no answer. */
  readonly lost: boolean;
}

/** The record of a call with the names of its faults; the effects of faults follow the checks in the trace. */
export interface TouchedRecord extends Omit<CallRecord, 'trace'> {
  readonly trace: readonly (CheckStep | FaultStep)[];
  readonly faults: readonly string[];
}

/** The effect of a fault on a call. */
interface FaultStep {
  readonly check: 'fault';
  readonly passed: false;
  readonly why: string;
}

/** The effects of faults. Delays have none: only their names are in the record. */
function faultSteps(faults: readonly Fault[]): FaultStep[] {
  const isReset = findFault(faults, 'reset') !== undefined;
  const did = (fault: Fault): string | undefined => {
    if (fault.type === 'reset') return 'reset the connection; nothing was done';
    if (fault.type === 'lost_answer' && !isReset) return 'reset the connection instead of answering';
    if (fault.type === 'status' && !isReset) return `answered ${fault.code}; nothing was done`;
    return undefined;
  };
  return faults.flatMap((fault) => {
    const what = did(fault);
    const { type, name = type } = fault;
    return what === undefined ? [] : [{ check: 'fault', passed: false, why: `the rule "${name}" ${what}` }];
  });
}

/** Creates the ports of the service through which faults act on calls. `faultsOf` has the faults by surface. */
export function createCallEdge(faultsOf: Readonly<Record<IncomingCall['surface'], ApiFaults>>) {
  const current = new AsyncLocalStorage<TouchedCall>();

  const touch = async (
    call: IncomingCall,
    serve: () => Promise<void>,
    { faults, lost }: TouchedCall,
  ): Promise<void> => {
    const { request, response, record } = call;
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await call.pause(delay.ms);
    const status = findFault(faults, 'status');
    const isReset = findFault(faults, 'reset') !== undefined;
    // The call is not handled, but its record contains the caller.
    if (isReset || status !== undefined) await call.recognize();
    if (isReset) {
      request.socket.resetAndDestroy();
      record(null, null);
    } else if (status !== undefined) {
      const { code, ...answer } = makeUp(call, status);
      if (lost) request.socket.resetAndDestroy();
      record(!lost && writeAnswer(response, answer) ? answer.status : null, code);
    } else {
      if (lost) loseAnswer(response);
      await serve();
    }
  };

  const aroundCall: AroundCall = async (call, serve) => {
    const { method, path } = call.request;
    const { workspaceId } = call;
    const faults = await faultsOf[call.surface].decide({ method, path, workspaceId });
    if (faults.length === 0) return serve();
    const lost = faults.some(({ type }) => type === 'reset' || type === 'lost_answer');
    const touched = { faults, lost };
    return current.run(touched, () => touch(call, serve, touched));
  };
  const isStored: IsStored = () => findFault(current.getStore()?.faults ?? [], 'not_persisted') === undefined;

  return {
    aroundCall,
    isStored,
    /** Adds the faults of the call in progress to its record. */
    explain(call: CallRecord): TouchedRecord {
      const { faults = [], lost = false } = current.getStore() ?? {};
      const names = faults.map(({ type, name = type }) => name);
      const trace = [...call.trace, ...faultSteps(faults)];
      return { ...call, ...(lost ? { status: null, responseBody: null } : {}), trace, faults: names };
    },
  };
}
