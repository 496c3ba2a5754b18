import type { Request, Response } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { findFault } from '../rest/answer-fault.ts';
import type { ApiFault, ApiFaults } from '../rest/api-faults.ts';
import { createOpenCalls } from '../rest/open-calls.ts';
import { answerOfFailure, jsonAnswer, type OauthAnswer, writeOauthAnswer } from './oauth-answer.ts';
import { OauthError } from './oauth-error.ts';
import { answerOauthFault } from './oauth-faults.ts';

/** Answers one request. What it throws is answered as a failure. */
export type OauthHandler = (request: Request) => Promise<OauthAnswer>;

/** Handlers by path below the issuer, then by method. */
export type OauthRoutes = Readonly<Record<string, Readonly<Record<string, OauthHandler>>>>;

/** Answers what is asked below the issuer. */
export interface OauthServer {
  /** False when nothing of this server stands at the path. */
  handle(request: Request, response: Response): boolean;
  /** How many requests are being answered. */
  readonly open: number;
  idle(): Promise<void>;
  /** Holds no request any longer, and resolves when none is open. */
  close(): Promise<void>;
}

interface Options {
  readonly routes: OauthRoutes;
  readonly faults: ApiFaults;
  readonly systemClock: Clock;
  readonly logger: Logger;
}

function refuseMethod(methods: readonly string[]): OauthAnswer {
  const body = { error: 'invalid_request', error_description: 'the address does not take this method' };
  return jsonAnswer(405, body, { Allow: methods.join(', ') });
}

export function createOauthServer({ routes, faults: port, systemClock, logger }: Options): OauthServer {
  const table = new Map(
    Object.entries(routes).map(([path, methods]) => [path, new Map(Object.entries(methods))]),
  );
  const stopping = new AbortController();
  const open = createOpenCalls();

  const answer = async (request: Request, faults: readonly ApiFault[]): Promise<OauthAnswer> => {
    const methods = table.get(request.path) ?? new Map<string, OauthHandler>();
    const handler = methods.get(request.method);
    if (handler === undefined) return refuseMethod([...methods.keys()]);
    const status = findFault(faults, 'status');
    if (status !== undefined) return answerOauthFault(status);
    try {
      return await handler(request);
    } catch (error) {
      if (!(error instanceof OauthError)) logger.error({ err: error }, 'an OAuth request failed');
      return answerOfFailure(error);
    }
  };

  const serve = async (request: Request, response: Response): Promise<void> => {
    const { method, path } = request;
    const faults = port.decide({ method, path });
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    const reset = findFault(faults, 'reset') !== undefined;
    const answered = reset ? null : await answer(request, faults);
    if (answered === null || findFault(faults, 'lost_answer') !== undefined) request.socket.resetAndDestroy();
    else writeOauthAnswer(response, answered);
  };

  return {
    get open() {
      return open.count;
    },
    handle(request, response) {
      if (!table.has(request.path)) return false;
      const served = serve(request, response).catch((err: unknown) => {
        logger.error({ err }, 'an OAuth request could not be answered');
        writeOauthAnswer(response, answerOfFailure(err));
      });
      open.add(served);
      return true;
    },
    idle: () => open.idle(),
    close() {
      stopping.abort();
      return open.idle();
    },
  };
}
