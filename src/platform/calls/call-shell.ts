import type { Request, RequestHandler, Response } from 'express';
import type { ToolName } from '../../contract/service/tools.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import { DecisionTrace } from '../kernel/decision-trace.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { type Answer, writeAnswer } from './answer.ts';
import { type OnCall, recordedAnswer, recordedPath, recordedText } from './call-record.ts';

/** A call before it is served. */
export interface IncomingCall {
  /** `api`: below the base URL, to which the path is relative. `oauth`: below the issuer, including the tools. */
  readonly surface: 'api' | 'oauth';
  readonly request: Request;
  readonly response: Response;
  /** The workspace of the call's credential; null if the credential is invalid or belongs to no workspace. */
  workspaceId(): Promise<string | null>;
  /** Looks up the caller, for the record of a call that is not served. Never rejects. */
  recognize(): Promise<void>;
  /** Writes the record of a call that is answered instead of being served; a null status: no answer was sent. */
  record(status: number | null, code: string | null): void;
  /** Waits, on the system clock. Rejects when the service closes. */
  pause(ms: number): Promise<void>;
}

/** Port: wraps each call before any of it is handled. `serve` handles the call. */
export type AroundCall = (call: IncomingCall, serve: () => Promise<void>) => Promise<void>;

/** The state of a request until its record is written. */
interface CallReport {
  readonly trace: DecisionTrace;
  tool: ToolName | null;
  /** The code of a refusal. */
  code: string | null;
  answer: Answer | null;
  /** Writes the record; only the first call has an effect. A null status: no answer was sent. */
  write(status: number | null): void;
}

/** Begins the record of a request. */
function openCallReport(
  { method, path, originalUrl }: Request,
  { clock, systemClock, onCall }: Pick<Options, 'clock' | 'systemClock' | 'onCall'>,
): CallReport {
  const at = clock.now();
  const began = systemClock.elapsed();
  const trace = new DecisionTrace();
  const query = originalUrl.split('?').slice(1).join('?');
  let written = false;
  const report: CallReport = {
    trace,
    tool: null,
    code: null,
    answer: null,
    write(status) {
      if (written) return;
      written = true;
      onCall?.({
        at,
        method,
        path: recordedPath(path),
        query: query === '' ? null : recordedText(query),
        requestBody: trace.body === null || trace.body.length === 0 ? null : recordedText(trace.body),
        responseBody: report.answer && recordedAnswer(report.answer),
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
}

/** How calls of one kind are answered. */
export interface CallHandler {
  /** The answer, or null if it was already written. Whatever it throws is passed to `refuse`. */
  answer(call: OpenCall): Promise<Answer | null>;
  /** The answer to anything thrown. */
  refuse(error: unknown): Answer;
  /** Looks up the credential of a call, if it has one. */
  recognize?(request: Request): Promise<unknown>;
}

/** The shell around the calls of REST, the authorization server and the tool server. */
export interface CallShell {
  handle(surface: IncomingCall['surface'], handler: CallHandler): RequestHandler;
  /** The number of calls in progress. */
  readonly open: number;
  /** Resolves when no call is in progress. */
  idle(): Promise<void>;
  /** Ends the pauses around calls, and resolves when no call is in progress. */
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

/** Runs each call: its record, its trace, its answer or refusal, and the count of calls in progress. */
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
    // A refusal by a check is not an internal error.
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
      report.answer = answer;
      report.write(writeAnswer(response, answer) ? answer.status : null);
    }
  };

  const handleCall = async (
    surface: IncomingCall['surface'],
    handler: CallHandler,
    { request, response }: Omit<OpenCall, 'report'>,
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
      await aroundCall(incoming, () => serve(handler, { request, response, report }));
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
      open += 1;
      void handleCall(surface, handler, { request, response }).finally(leave);
    },
    idle,
    close() {
      closing.abort();
      return idle();
    },
  };
}
