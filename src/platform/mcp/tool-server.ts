import type { Request, Response } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { CredentialSources } from '../credentials/resolve-credential.ts';
import { documentAnswer, writeOauthAnswer } from '../oauth/oauth-answer.ts';
import { answerOauthFault } from '../oauth/oauth-faults.ts';
import { PlatformError } from '../platform-error.ts';
import type { BaseUrls } from '../platform-options.ts';
import { type Answer, answerOf, writeAnswer } from '../rest/answer.ts';
import { findFault } from '../rest/answer-fault.ts';
import type { ApiFault, ApiFaults } from '../rest/api-faults.ts';
import type { OnCall } from '../rest/call-record.ts';
import { createOpenCalls } from '../rest/open-calls.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { admitRequest, ScopeMissing, UnreadableMessage } from './admit-request.ts';
import { isWelcomeOrigin } from './browser-rules.ts';
import { type CallReport, openCallReport } from './call-report.ts';
import type { ProtocolHandler } from './protocol-handler.ts';
import { describeResource, RESOURCE_METADATA_PATHS, TOOLS_PATH } from './resource-metadata.ts';
import { serveExchange } from './serve-exchange.ts';
import { refuseOrigin, refuseRequest } from './tool-refusals.ts';

/** Answers what is asked at the address of the tools, and for what it says of itself. */
export interface ToolServer {
  /** False when nothing of this server stands at the path. */
  handle(request: Request, response: Response): boolean;
  /** How many requests are being answered. */
  readonly open: number;
  idle(): Promise<void>;
  /** Answers those who wait for a send; the send goes on. Called when the service is about to stop. */
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
  readonly protocol: ProtocolHandler;
  /** Aborted by `endWaits`: the tools listen to it. */
  readonly stopping: AbortController;
}

const METADATA: ReadonlySet<string> = new Set(RESOURCE_METADATA_PATHS);

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
  const onFailure = (err: unknown): void => logger.error({ err }, 'a tool call failed');

  const refuse = (response: Response, report: CallReport, answer: Answer, lost: boolean): void => {
    report.write(lost || response.destroyed ? null : answer.status);
    if (!lost) writeAnswer(response, answer);
  };

  const answerCall = async (
    request: Request,
    response: Response,
    report: CallReport,
    lost: boolean,
  ): Promise<void> => {
    if (!isWelcomeOrigin(request.get('Origin'))) {
      refuse(response, report, refuseOrigin(), lost);
      return;
    }
    try {
      const admitted = await admitRequest(options, request);
      await serveExchange(request, response, admitted, { protocol, report, lost, onFailure });
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
  ): Promise<void> => {
    const report = openCallReport(request, { ...options, faults });
    const delay = findFault(faults, 'delay');
    if (delay !== undefined) await systemClock.sleep(delay.ms, stopping.signal);
    const status = findFault(faults, 'status');
    const resets = findFault(faults, 'reset') !== undefined;
    const lost = resets || findFault(faults, 'lost_answer') !== undefined;
    if (!resets && status !== undefined) {
      report.write(status.code);
      writeOauthAnswer(response, answerOauthFault(status));
      return;
    }
    if (!resets) await report.trace.run(() => answerCall(request, response, report, lost));
    report.write(null);
    if (lost) request.socket.resetAndDestroy();
  };

  const serve = async (request: Request, response: Response): Promise<void> => {
    const { method, path } = request;
    const faults = port.decide({ method, path });
    if (path === TOOLS_PATH) await callTools(request, response, faults);
    else if (method === 'GET') writeOauthAnswer(response, documentAnswer(describeResource(baseUrls())));
    else
      writeAnswer(response, {
        ...answerOf(new PlatformError('method_not_allowed')),
        headers: { Allow: 'GET' },
      });
  };

  return {
    get open() {
      return open.count;
    },
    handle(request, response) {
      if (request.path !== TOOLS_PATH && !METADATA.has(request.path)) return false;
      const served = serve(request, response).catch((error: unknown) => {
        onFailure(error);
        writeAnswer(response, answerOf(error));
      });
      open.add(served);
      return true;
    },
    idle: () => open.idle(),
    endWaits: () => stopping.abort(),
    async close() {
      stopping.abort();
      await open.idle();
      await protocol.close();
    },
  };
}
