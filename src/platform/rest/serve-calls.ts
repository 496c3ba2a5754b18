import type { Request, Response } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Answer, answerOf, writeAnswer } from '../calls/answer.ts';
import { answerFault, findFault } from '../calls/answer-fault.ts';
import type { ApiFault, ApiFaults } from '../calls/api-faults.ts';
import type { OnCall } from '../calls/call-record.ts';
import { openCallReport } from '../calls/call-report.ts';
import { createOpenCalls } from '../calls/open-calls.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import type { DecisionTrace } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { Endpoint } from './endpoint.ts';
import { passGate } from './gate.ts';
import { createRouteMatcher } from './match-route.ts';

interface Options extends CredentialSources {
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly faults: ApiFaults;
  readonly endpoints: readonly Endpoint[];
  readonly onCall?: OnCall | undefined;
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

function codeOf({ body }: Answer): string | null {
  const code: unknown = Reflect.get(body, 'error');
  return typeof code === 'string' ? code : null;
}

export function createCallServer(options: Options): CallServer {
  const { database, tokens, clock, systemClock, logger, faults: port, onCall } = options;
  const match = createRouteMatcher(options.endpoints);
  const stopping = new AbortController();
  const open = createOpenCalls();

  const failed = (error: unknown, trace: DecisionTrace, endpoint?: Endpoint): Answer => {
    trace.refuse(error);
    // A 502 is an ordinary refusal: what the phone network declines is no failure of the service.
    if (!(error instanceof PlatformError) || error.code === 'internal_error') {
      logger.error({ err: error }, 'a call failed');
    }
    return answerOf(error, endpoint?.row.scope);
  };

  const answerCall = async (
    request: Request,
    faults: readonly ApiFault[],
    trace: DecisionTrace,
  ): Promise<Answer> => {
    const found = match(request.method, request.path);
    if (found.kind === 'unknown') {
      return failed(new PlatformError('not_found', { check: 'route', why: 'no such address' }), trace);
    }
    if (found.kind === 'wrong_method') {
      const why = `the address takes ${found.allow}`;
      return {
        ...failed(new PlatformError('method_not_allowed', { why }), trace),
        headers: { Allow: found.allow },
      };
    }
    const { endpoint, params } = found;
    try {
      const run = await passGate({ database, tokens }, { request, endpoint, params, faults });
      const answer = await run();
      trace.seal();
      return answer;
    } catch (error) {
      return failed(error, trace, endpoint);
    }
  };

  /** The workspace of the credential that came with a request; null where it is of none. */
  const workspaceOf = (request: Request): Promise<string | null> =>
    resolveCredential({ database, tokens }, request.headersDistinct['authorization']).then(
      (credential) => credential.workspaceId,
      () => null,
    );

  /** The answer to a call, or null where a fault resets the connection in place of handling it. */
  const decide = async (
    request: Request,
    faults: readonly ApiFault[],
    trace: DecisionTrace,
  ): Promise<Answer | null> => {
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    const status = findFault(faults, 'status');
    const isReset = findFault(faults, 'reset') !== undefined;
    // The record of a call that nobody handles still says whose it is.
    if (isReset || status !== undefined) await trace.run(() => workspaceOf(request));
    if (isReset) return null;
    if (status !== undefined) {
      const found = match(request.method, request.path);
      return answerFault(status, found.kind === 'endpoint' ? found.endpoint.row.errors : []);
    }
    return trace.run(() => answerCall(request, faults, trace));
  };

  /** One call from fault to answer, and its record. */
  const serve = async (request: Request, response: Response): Promise<void> => {
    const { method, path } = request;
    const faults = await port.decide({ method, path, workspaceId: () => workspaceOf(request) });
    const report = openCallReport(request, { clock, systemClock, faults, onCall });
    const { trace } = report;
    const answer = await decide(request, faults, trace).catch((error: unknown) => failed(error, trace));
    const lost = answer === null || findFault(faults, 'lost_answer') !== undefined;
    if (lost) request.socket.resetAndDestroy();
    const written = !lost && writeAnswer(response, answer);
    report.code = answer === null ? null : codeOf(answer);
    report.write(written ? answer.status : null);
  };

  return {
    get open() {
      return open.count;
    },
    handle(request, response) {
      const served = serve(request, response).catch((err: unknown) => {
        logger.error({ err }, 'a call could not be answered');
        writeAnswer(response, answerOf(err));
      });
      open.add(served);
    },
    idle: () => open.idle(),
    close() {
      stopping.abort();
      return open.idle();
    },
  };
}
