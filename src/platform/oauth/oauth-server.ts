import type { Request, Response } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { findFault } from '../calls/answer-fault.ts';
import type { ApiFault, ApiFaults } from '../calls/api-faults.ts';
import type { OnCall } from '../calls/call-record.ts';
import { openCallReport } from '../calls/call-report.ts';
import { createOpenCalls } from '../calls/open-calls.ts';
import type { DecisionTrace } from '../kernel/decision-trace.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { answerOfFailure, type OauthAnswer, refusalAnswer, writeOauthAnswer } from './oauth-answer.ts';
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
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly logger: Logger;
  /** Runs after each answer; must not reject. */
  readonly clearUp: () => Promise<void>;
  readonly onCall?: OnCall | undefined;
}

function refuseMethod(methods: readonly string[]): OauthAnswer {
  const refused = new OauthError('invalid_request', 'the address does not take this method', 'method');
  return { ...refusalAnswer(refused, { Allow: methods.join(', ') }), status: 405 };
}

export function createOauthServer(options: Options): OauthServer {
  const { faults: port, clock, systemClock, logger, clearUp, onCall } = options;
  const table = new Map(
    Object.entries(options.routes).map(([path, methods]) => [path, new Map(Object.entries(methods))]),
  );
  const stopping = new AbortController();
  const open = createOpenCalls();

  const answer = async (request: Request): Promise<OauthAnswer> => {
    const methods = table.get(request.path) ?? new Map<string, OauthHandler>();
    const handler = methods.get(request.method);
    if (handler === undefined) return refuseMethod([...methods.keys()]);
    try {
      return await handler(request);
    } catch (error) {
      if (!(error instanceof OauthError)) logger.error({ err: error }, 'an OAuth request failed');
      return answerOfFailure(error);
    }
  };

  /** The answer to a request, or null where a fault resets the connection in place of handling it. */
  const decide = async (
    request: Request,
    faults: readonly ApiFault[],
    trace: DecisionTrace,
  ): Promise<OauthAnswer | null> => {
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    if (findFault(faults, 'reset') !== undefined) return null;
    const status = findFault(faults, 'status');
    if (status !== undefined) return answerOauthFault(status);
    const answered = await trace.run(() => answer(request));
    if (answered.refused === undefined) trace.seal();
    else trace.refuse(answered.refused);
    return answered;
  };

  /** One request from fault to answer, and its record. */
  const serve = async (request: Request, response: Response): Promise<void> => {
    const { method, path } = request;
    const faults = await port.decide({ method, path });
    const report = openCallReport(request, { clock, systemClock, faults, onCall });
    const answered = await decide(request, faults, report.trace);
    const lost = answered === null || findFault(faults, 'lost_answer') !== undefined;
    if (lost) request.socket.resetAndDestroy();
    const written = !lost && writeOauthAnswer(response, answered);
    report.code = answered?.refused?.code ?? answered?.madeUp ?? null;
    report.write(written ? answered.status : null);
    await clearUp();
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
