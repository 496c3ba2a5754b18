import type { Request, Response } from 'express';
import { ERROR_CODES, ERRORS } from '../../contract/service/errors.ts';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { PlatformError } from '../platform-error.ts';
import { type Answer, answerOf, refusal, writeAnswer } from './answer.ts';
import type { ApiFault, ApiFaults } from './api-faults.ts';
import type { Endpoint } from './endpoint.ts';
import { passGate } from './gate.ts';
import { createRouteMatcher } from './match-route.ts';

interface Options {
  readonly database: Queryable;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly faults: ApiFaults;
  readonly endpoints: readonly Endpoint[];
}

/** Answers every call under the base URL. */
export interface CallServer {
  handle(request: Request, response: Response): void;
  /** How many calls are being answered. */
  readonly open: number;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
  /** Holds no call any longer, and resolves when none is open. */
  close(): Promise<void>;
}

type Fault<Type extends ApiFault['type']> = Extract<ApiFault, { readonly type: Type }>;

function find<Type extends ApiFault['type']>(
  faults: readonly ApiFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
}

/** The code that a status stands for when a fault names none. */
function usualError(status: number): string {
  return (
    ERROR_CODES.find((code) => ERRORS[code].statuses.some((known) => known === status)) ?? 'internal_error'
  );
}

function statusAnswer({ code, error = usualError(code), retryAfter }: Fault<'status'>): Answer {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  return { status: code, body: { error }, headers };
}

export function createCallServer(options: Options): CallServer {
  const { database, systemClock, logger, faults: port } = options;
  const match = createRouteMatcher(options.endpoints);
  const stopping = new AbortController();
  let open = 0;
  let waiters: (() => void)[] = [];

  const failed = (error: unknown, scope: Scope | undefined): Answer => {
    const answer = answerOf(error, scope);
    if (answer.status >= 500) logger.error({ err: error }, 'a call failed');
    return answer;
  };

  const answerCall = async (request: Request, faults: readonly ApiFault[]): Promise<Answer> => {
    const found = match(request.method, request.path);
    if (found.kind === 'unknown') return refusal(new PlatformError('not_found'));
    if (found.kind === 'wrong_method') {
      return { ...refusal(new PlatformError('method_not_allowed')), headers: { Allow: found.allow } };
    }
    const { endpoint, params } = found;
    try {
      const run = await passGate(database, { request, endpoint, params, faults });
      return await run();
    } catch (error) {
      return failed(error, endpoint.row.scope);
    }
  };

  /** One call from fault to answer. A record of calls belongs here: all of it is known at the end. */
  const serve = async (request: Request, response: Response): Promise<void> => {
    const faults = port.decide({ method: request.method, path: request.path });
    const delay = find(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    if (find(faults, 'reset') !== undefined) {
      request.socket.resetAndDestroy();
      return;
    }
    const status = find(faults, 'status');
    const answer = status === undefined ? await answerCall(request, faults) : statusAnswer(status);
    if (find(faults, 'lost_answer') === undefined) writeAnswer(response, answer);
    else request.socket.resetAndDestroy();
  };

  const leave = (): void => {
    open -= 1;
    if (open > 0) return;
    const done = waiters;
    waiters = [];
    for (const resolve of done) resolve();
  };

  const idle = (): Promise<void> =>
    open === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve));

  return {
    get open() {
      return open;
    },
    handle(request, response) {
      open += 1;
      serve(request, response)
        .catch((error: unknown) => writeAnswer(response, failed(error, undefined)))
        .finally(leave);
    },
    idle,
    close() {
      stopping.abort();
      return idle();
    },
  };
}
