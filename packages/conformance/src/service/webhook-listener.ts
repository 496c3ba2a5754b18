import type { Exchange } from '../../../certify/src/runner/exchange.ts';

/** A request to the webhook URL. */
export interface WebhookRequest {
  /** Monotonic milliseconds when its head was read, and when the response was sent. */
  readonly at: number;
  readonly answeredAt: number;
  /** Wall clock, epoch milliseconds. */
  readonly receivedAt: number;
  readonly method: string;
  readonly path: string;
  /** Every value of each header, names in lower case. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  /** The status of the response; 0 if there was none. */
  readonly status: number;
}

/** The response to a request. */
export interface WebhookAnswer {
  /** 0 for no response: the connection stays open. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Decides the response from the request and the requests before it. */
export type AnswerRule = (
  request: Pick<WebhookRequest, 'path' | 'json'>,
  before: readonly WebhookRequest[],
) => WebhookAnswer;

/** Records deliveries and answers them as configured. */
export interface WebhookListener {
  readonly requests: readonly WebhookRequest[];
  /** Sets the rule from now on; initially 200 for everything. */
  answerBy(rule: AnswerRule): void;
  /**
   * Resolves with what `find` finds among the requests, now or after more have arrived. Rejects when `signal`
   * aborts.
   */
  until<T>(find: (requests: readonly WebhookRequest[]) => T | undefined, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

const TOLD_HEADERS = /^(?:content-type|x-.+)$/;

/** A delivery as evidence: what was received, and the status of the response. */
export function describeDelivery(request: WebhookRequest): Exchange {
  const { method, path, status, at, answeredAt } = request;
  return {
    as: 'delivery of the service',
    method,
    path,
    requestHeaders: Object.fromEntries(
      Object.entries(request.headers)
        .filter(([name]) => TOLD_HEADERS.test(name))
        .map(([name, values]) => [name, values.join(' and ')]),
    ),
    requestBody: request.body.toString(),
    status,
    headers: new Headers(),
    text: '',
    json: undefined,
    ms: answeredAt - at,
  };
}
