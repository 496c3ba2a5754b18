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
import type { AroundStore } from '../../platform/messages/carry-out-send.ts';
import { jsonAnswer } from '../../platform/oauth/oauth-answer.ts';
import type { ApiFault, ApiFaults } from './call-faults.ts';

type Fault<Type extends ApiFault['type']> = Extract<ApiFault, { readonly type: Type }>;

function findFault<Type extends ApiFault['type']>(
  faults: readonly ApiFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
}

/** Codes that fit any address. */
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
 * The code that a status stands for at an endpoint with these errors, when a fault names none: one of its own, else one
 * that fits any address. Undefined where neither is there.
 */
export function usualError(status: number, errors: readonly ErrorCode[]): ErrorCode | undefined {
  const stands = (code: ErrorCode): boolean => ERRORS[code].statuses.some((known) => known === status);
  const own = ERROR_CODES.find((code) => errors.includes(code) && stands(code));
  return own ?? GENERAL.find(stands) ?? (status >= 500 ? 'internal_error' : undefined);
}

/** The code that a status stands for below the authorization server. */
function usualAuthError(status: number): string {
  if (status === 503 || status === 429) return 'temporarily_unavailable';
  if (status === 401) return 'invalid_client';
  return status < 500 ? 'invalid_request' : 'server_error';
}

/** The errors of the endpoint that a call of the API is for; none where there is no such endpoint. */
function errorsOf({ method, path }: Request): readonly ErrorCode[] {
  const endpoint = Object.values(SERVICE_ENDPOINTS).find((known) => {
    const pattern = known.path.replaceAll(/\{\w+\}/g, '[^/]+');
    return known.method === method && new RegExp(`^${pattern}$`).test(path);
  });
  return endpoint?.errors ?? [];
}

/** The answer that a fault makes up, with the body and the headers that the service gives its own refusals. */
function makeUp(
  { surface, request }: IncomingCall,
  fault: Fault<'status'>,
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

/** Resets the connection in place of writing what the service answers. */
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

/** What went wrong with the call that is being answered, for its record and for what it stores. */
interface TouchedCall {
  readonly faults: readonly ApiFault[];
  /** No answer reaches the client. */
  readonly lost: boolean;
}

/** A call as it was answered, with the names of the faults that touched it and with what they did, behind the checks. */
export interface TouchedRecord extends Omit<CallRecord, 'trace'> {
  readonly trace: readonly (CheckStep | FaultStep)[];
  readonly faults: readonly string[];
}

/** What a fault did to the call itself. */
interface FaultStep {
  readonly check: 'fault';
  readonly passed: false;
  readonly why: string;
}

/** Those that only held the call are named beside its trace. */
function faultSteps(faults: readonly ApiFault[]): FaultStep[] {
  const isReset = findFault(faults, 'reset') !== undefined;
  const did = (fault: ApiFault): string | undefined => {
    if (fault.type === 'reset') return 'reset the connection; nothing was done';
    if (fault.type === 'lost_answer' && !isReset) return 'reset the connection in place of the answer';
    if (fault.type === 'status' && !isReset) return `answered ${fault.code}; nothing was done`;
    return undefined;
  };
  return faults.flatMap((fault) => {
    const what = did(fault);
    const { type, name = type } = fault;
    return what === undefined ? [] : [{ check: 'fault', passed: false, why: `the rule "${name}" ${what}` }];
  });
}

/** The edge at which faults of calls act: what the service is started with. */
export interface CallEdge {
  readonly aroundCall: AroundCall;
  readonly aroundStore: AroundStore;
  /** The record of the call that is being answered, with what touched it. */
  explain(call: CallRecord): TouchedRecord;
}

/** Makes the edge of a service. `faults` decide what goes wrong with each call of a surface. */
export function createCallEdge(faultsOf: Readonly<Record<IncomingCall['surface'], ApiFaults>>): CallEdge {
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
    // The record of a call that nobody handles still says whose it is.
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

  return {
    async aroundCall(call, serve) {
      const { method, path } = call.request;
      const { workspaceId } = call;
      const faults = await faultsOf[call.surface].decide({ method, path, workspaceId });
      if (faults.length === 0) return serve();
      const lost = faults.some(({ type }) => type === 'reset' || type === 'lost_answer');
      const touched = { faults, lost };
      return current.run(touched, () => touch(call, serve, touched));
    },
    async aroundStore(store) {
      const notPersisted = findFault(current.getStore()?.faults ?? [], 'not_persisted');
      if (notPersisted !== undefined)
        throw new Error('a fault of the sandbox keeps the message from being stored');
      return store();
    },
    explain(call) {
      const { faults = [], lost = false } = current.getStore() ?? {};
      const names = faults.map(({ type, name = type }) => name);
      const trace = [...call.trace, ...faultSteps(faults)];
      return { ...call, ...(lost ? { status: null } : {}), trace, faults: names };
    },
  };
}
