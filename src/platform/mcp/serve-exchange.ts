import { type NodeServerResponseLike, toNodeHandler } from '@modelcontextprotocol/node';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Request } from 'express';
import type { CallReport } from '../calls/call-report.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { AdmittedRequest } from './admit-request.ts';
import type { ProtocolHandler } from './protocol-handler.ts';
import { TOOLS_PATH } from './resource-metadata.ts';

/** What goes for one answer besides the request. */
export interface ExchangeOptions {
  readonly report: CallReport;
  /** The answer comes to nothing, as a fault wants it. */
  readonly lost: boolean;
  /** Told that the answer is a stream that ends when somebody closes it. */
  readonly onStanding: () => void;
  /** Told of a failure that is no refusal. */
  readonly onFailure: (error: unknown) => void;
}

/** Answers one request that was let in. */
export type ServeExchange = (
  request: Request,
  response: NodeServerResponseLike,
  admitted: AdmittedRequest,
  options: ExchangeOptions,
) => Promise<void>;

async function* nothing(): AsyncGenerator<never> {}

/** The request as the protocol needs it: its body was read, its credential and its host mean nothing any more. */
function forProtocol({ headers }: Request, auth: AuthInfo) {
  const { authorization: _authorization, ...others } = headers;
  return {
    method: 'POST',
    url: TOOLS_PATH,
    headers: { ...others, host: 'tools' },
    auth,
    [Symbol.asyncIterator]: nothing,
  };
}

/** Takes an answer and sends it nowhere. */
const nowhere: NodeServerResponseLike = {
  writeHead: () => undefined,
  write: () => true,
  end: () => undefined,
  on: () => undefined,
};

const isStream = (response: globalThis.Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') === true;

/** What the protocol answers is text in UTF-8, and it does not say so. */
function nameCharset(answer: globalThis.Response): globalThis.Response {
  const type = answer.headers.get('content-type');
  if (type !== null && !type.includes('charset='))
    answer.headers.set('content-type', `${type}; charset=utf-8`);
  return answer;
}

/**
 * Has the protocol answer a request that was let in. The record is written before the client can read how it
 * ended: with the outcome of the tool where the answer is a stream that is open by then, else with the answer.
 */
export async function serveExchange(
  protocol: ProtocolHandler,
  request: Request,
  response: NodeServerResponseLike,
  { credential, message, given, tool, listens }: AdmittedRequest,
  { report, lost, onStanding, onFailure }: ExchangeOptions,
): Promise<void> {
  let toolRuns = tool !== null;
  let status: number | null = null;
  report.tool = tool;
  const write = (): void => report.write(lost ? null : status);

  const auth = protocol.open({
    credential,
    given,
    onOutcome(refusal) {
      toolRuns = false;
      if (refusal === null) {
        report.trace.seal();
      } else {
        report.trace.refuse(refusal);
        report.code = refusal instanceof PlatformError ? refusal.code : 'internal_error';
        if (report.code === 'internal_error') onFailure(refusal);
      }
      if (status !== null) write();
    },
  });
  const serve = toNodeHandler(
    {
      async fetch(...given) {
        const answer = await protocol.fetch(...given);
        status = answer.status;
        if (!toolRuns || !isStream(answer)) write();
        if (listens && isStream(answer)) onStanding();
        return nameCharset(answer);
      },
    },
    { onerror: onFailure },
  );
  await serve(forProtocol(request, auth), lost ? nowhere : response, message);
  write();
}
