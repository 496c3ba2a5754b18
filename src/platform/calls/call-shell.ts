import type { Request, RequestHandler, Response } from 'express';
import type { ToolName } from '../../contract/service/tools.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import { createDecisionTrace, type DecisionTrace } from '../kernel/decision-trace.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { type Answer, writeAnswer } from './answer.ts';
import { type OnCall, recordedPath } from './call-record.ts';

/** A call as it comes in. */
export interface IncomingCall {
  /** `api`: below the base URL, and the path is relative to that. `oauth`: below the issuer, the tools included. */
  readonly surface: 'api' | 'oauth';
  readonly request: Request;
  readonly response: Response;
  /** Looks up whose credential came with it; null where it is of no workspace, or not good. */
  workspaceId(): Promise<string | null>;
  /** Looks up who calls, for the record of a call that is not served. Never rejects. */
  recognize(): Promise<void>;
  /** Writes the record of a call that is answered in place of being served; null: no answer came. */
  record(status: number | null, code: string | null): void;
  /** Waits, on the system clock. Rejects when the service closes. */
  pause(ms: number): Promise<void>;
}

/** Port: stands around each call before anything is done for it. `serve` handles the call. */
export type AroundCall = (call: IncomingCall, serve: () => Promise<void>) => Promise<void>;

/** What is kept of a request until its record is written. */
interface CallReport {
  readonly trace: DecisionTrace;
  tool: ToolName | null;
  /** The code of a refusal. */
  code: string | null;
  /** Writes the record, the first time; null: no answer came. */
  write(status: number | null): void;
}

/** Begins the record of a request. */
function openCallReport(
  { method, path }: Request,
  { clock, systemClock, onCall }: Pick<Options, 'clock' | 'systemClock' | 'onCall'>,
): CallReport {
  const at = clock.now();
  const began = systemClock.elapsed();
  const trace = createDecisionTrace();
  let written = false;
  const report: CallReport = {
    trace,
    tool: null,
    code: null,
    write(status) {
      if (written) return;
      written = true;
      onCall?.({
        at,
        method,
        path: recordedPath(path),
        ...(report.tool === null ? {} : { tool: report.tool }),
        credentialId: trace.credentialId,
        workspaceId: trace.workspaceId,
        connectionId: trace.connectionId,
        messageIds: trace.messageIds,
        status,
        code: report.code,
        ms: systemClock.elapsed() - began,
        trace: trace.steps,
      });
    },
  };
  return report;
}

/** A call that is being answered. */
export interface OpenCall {
  readonly request: Request;
  readonly response: Response;
  readonly report: CallReport;
  /** It has become a stream that stands open: nobody waits for its end any more. */
  standsOpen(): void;
}

/** How calls of one kind are answered. */
export interface CallHandler {
  /** The answer, or null where it was written already. What it throws is refused. */
  answer(call: OpenCall): Promise<Answer | null>;
  /** The answer to anything thrown. */
  refuse(error: unknown): Answer;
  /** Looks up the credential of a call, if it has any. */
  recognize?(request: Request): Promise<unknown>;
  /** Runs after each answer; must not reject. */
  readonly afterwards?: () => Promise<void>;
}

/** What REST, the authorization server and the tool server have in common. */
export interface CallShell {
  handle(surface: IncomingCall['surface'], handler: CallHandler): RequestHandler;
  /** How many calls are being answered. */
  readonly open: number;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
  /** Ends the pauses around calls, and resolves when no call is open. */
  close(): Promise<void>;
}

interface Options extends CredentialSources {
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly onCall: OnCall | undefined;
  readonly aroundCall: AroundCall | undefined;
}

const straight: AroundCall = (_call, serve) => serve();

/** Makes the way of every call: its record and trace, its answer or refusal, and the count of those that are open. */
export function createCallShell(options: Options): CallShell {
  const { logger, aroundCall = straight } = options;
  const closing = new AbortController();
  let open = 0;
  let waiters: (() => void)[] = [];

  const leave = (): void => {
    open -= 1;
    if (open > 0) return;
    const done = waiters;
    waiters = [];
    for (const resolve of done) resolve();
  };
  const idle = (): Promise<void> =>
    open === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve));

  const refuse = (handler: CallHandler, error: unknown): Answer => {
    const answer = handler.refuse(error);
    // A check that refuses is no failure of the service.
    if ((answer.refused?.check ?? null) === null) logger.error({ err: error }, 'a call failed');
    return answer;
  };

  const serve = async (handler: CallHandler, call: OpenCall): Promise<void> => {
    const { report, response } = call;
    const answer = await report.trace
      .run(() => handler.answer(call))
      .catch((error: unknown) => refuse(handler, error));
    if (answer === null) {
      report.write(null);
    } else {
      const { refused } = answer;
      if (refused === undefined) report.trace.seal();
      else report.trace.refuse(refused);
      report.code = refused?.code ?? null;
      report.write(writeAnswer(response, answer) ? answer.status : null);
    }
    await handler.afterwards?.();
  };

  const handleCall = async (
    surface: IncomingCall['surface'],
    handler: CallHandler,
    { request, response, standsOpen }: Omit<OpenCall, 'report'>,
  ): Promise<void> => {
    const report = openCallReport(request, options);
    const incoming: IncomingCall = {
      surface,
      request,
      response,
      pause: (ms) => options.systemClock.sleep(ms, closing.signal),
      workspaceId: () =>
        resolveCredential(options, request.headersDistinct['authorization']).then(
          (credential) => credential.workspaceId,
          () => null,
        ),
      async recognize() {
        await report.trace.run(() => handler.recognize?.(request).catch(() => undefined));
      },
      record(status, code) {
        report.code = code;
        report.write(status);
      },
    };
    try {
      await aroundCall(incoming, () => serve(handler, { request, response, report, standsOpen }));
    } catch (error) {
      logger.error({ err: error }, 'a call could not be answered');
      writeAnswer(response, handler.refuse(error));
    }
  };

  return {
    get open() {
      return open;
    },
    handle: (surface, handler) => (request, response) => {
      let isOpen = true;
      const standsOpen = (): void => {
        if (isOpen) leave();
        isOpen = false;
      };
      open += 1;
      void handleCall(surface, handler, { request, response, standsOpen }).finally(standsOpen);
    },
    idle,
    close() {
      closing.abort();
      return idle();
    },
  };
}
