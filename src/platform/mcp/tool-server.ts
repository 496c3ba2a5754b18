import type { Request, Response } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Answer, answerOf, writeAnswer } from '../calls/answer.ts';
import { findFault } from '../calls/answer-fault.ts';
import type { ApiFault, ApiFaults } from '../calls/api-faults.ts';
import type { OnCall } from '../calls/call-record.ts';
import { type CallReport, openCallReport } from '../calls/call-report.ts';
import { createOpenCalls } from '../calls/open-calls.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveToolCredential } from '../credentials/resolve-credential.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { documentAnswer, writeOauthAnswer } from '../oauth/oauth-answer.ts';
import { answerOauthFault } from '../oauth/oauth-faults.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { admitRequest, ScopeMissing, UnreadableMessage } from './admit-request.ts';
import { isWelcomeOrigin } from './browser-rules.ts';
import type { Protocol } from './protocol.ts';
import { describeResource, RESOURCE_METADATA_PATHS, TOOLS_PATH } from './resource-metadata.ts';
import { refuseOrigin, refuseRequest } from './tool-refusals.ts';

/** Answers what is asked at the address of the tools, and for what it says of itself. */
export interface ToolServer {
  /** False when nothing of this server stands at the path. */
  handle(request: Request, response: Response): boolean;
  /** How many requests are being answered; streams that only stand open do not count. */
  readonly open: number;
  idle(): Promise<void>;
  /** Answers those who wait for a send, which goes on, and ends standing streams. Called before the service stops. */
  endWaits(): void;
  /** Holds no request any longer, and resolves when none is open. */
  close(): Promise<void>;
}

interface Options extends CredentialSources {
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  readonly faults: ApiFaults;
  readonly onCall: OnCall | undefined;
  readonly protocol: Protocol;
  /** Aborted by `endWaits`: the tools listen to it. */
  readonly stopping: AbortController;
}

const METADATA: ReadonlySet<string> = new Set(RESOURCE_METADATA_PATHS);

/** What goes for one answer besides the request. */
interface Manner {
  /** It comes to nothing, as a fault wants it. */
  readonly lost: boolean;
  /** Told once it is a stream that stands open. */
  readonly onStanding: () => void;
}

/** What a request was refused with, for its record. */
function refusalOf(error: unknown): PlatformError | null {
  if (error instanceof ScopeMissing) return error.refusal;
  if (error instanceof UnreadableMessage) return new PlatformError('invalid_request', { why: error.message });
  return error instanceof PlatformError ? error : null;
}

/** Makes the tool server: its guard, the protocol behind it, and the metadata in front. Implements `Tool server`. */
export function createToolServer(options: Options): ToolServer {
  const { systemClock, logger, baseUrls, faults: port, protocol, stopping } = options;
  const open = createOpenCalls();
  const standing = new Set<Response>();
  const onFailure = (err: unknown): void => logger.error({ err }, 'a tool call failed');

  const refuse = (response: Response, report: CallReport, answer: Answer, lost: boolean): void => {
    report.write(lost || response.destroyed ? null : answer.status);
    if (!lost) writeAnswer(response, answer);
  };

  const answerCall = async (
    request: Request,
    response: Response,
    report: CallReport,
    { lost, onStanding }: Manner,
  ): Promise<void> => {
    if (!isWelcomeOrigin(request.get('Origin'))) {
      refuse(response, report, refuseOrigin(), lost);
      return;
    }
    try {
      const admitted = await admitRequest(options, request);
      await protocol.serve(request, response, admitted, { report, lost, onStanding, onFailure });
    } catch (error) {
      const refusal = refusalOf(error);
      report.trace.refuse(refusal);
      report.code = refusal?.code ?? 'internal_error';
      if (report.code === 'internal_error') onFailure(error);
      refuse(response, report, refuseRequest(error, baseUrls()), lost);
    }
  };

  const callTools = async (
    request: Request,
    response: Response,
    faults: readonly ApiFault[],
    onStanding: () => void,
  ): Promise<void> => {
    const report = openCallReport(request, { ...options, faults });
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    const status = findFault(faults, 'status');
    const resets = findFault(faults, 'reset') !== undefined;
    const lost = resets || findFault(faults, 'lost_answer') !== undefined;
    if (resets || status !== undefined) {
      // The record of a call that nobody handles still says whose it is.
      const sent = request.headersDistinct['authorization'];
      await report.trace.run(() => resolveToolCredential(options, sent).catch(() => null));
    }
    if (!resets && status !== undefined) {
      const answer = answerOauthFault(status);
      report.code = answer.madeUp ?? null;
      report.write(status.code);
      writeOauthAnswer(response, answer);
      return;
    }
    if (!resets) await report.trace.run(() => answerCall(request, response, report, { lost, onStanding }));
    report.write(null);
    if (lost) request.socket.resetAndDestroy();
  };

  const serve = async (request: Request, response: Response, onStanding: () => void): Promise<void> => {
    const { method, path } = request;
    const faults = await port.decide({ method, path });
    if (path === TOOLS_PATH) await callTools(request, response, faults, onStanding);
    else if (method === 'GET') writeOauthAnswer(response, documentAnswer(describeResource(baseUrls())));
    else
      writeAnswer(response, {
        ...answerOf(new PlatformError('method_not_allowed')),
        headers: { Allow: 'GET' },
      });
  };

  const endWaits = (): void => {
    stopping.abort();
    for (const response of standing) response.end();
  };

  return {
    get open() {
      return open.count;
    },
    handle(request, response) {
      if (request.path !== TOOLS_PATH && !METADATA.has(request.path)) return false;
      const answered = Promise.withResolvers<void>();
      const onStanding = (): void => {
        standing.add(response);
        answered.resolve();
      };
      serve(request, response, onStanding)
        .catch((error: unknown) => {
          onFailure(error);
          writeAnswer(response, answerOf(error));
        })
        .finally(() => {
          standing.delete(response);
          answered.resolve();
        });
      open.add(answered.promise);
      return true;
    },
    idle: () => open.idle(),
    endWaits,
    async close() {
      endWaits();
      await open.idle();
      await protocol.close();
    },
  };
}
