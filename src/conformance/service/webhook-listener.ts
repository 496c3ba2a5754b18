import type { Exchange } from '../runner/exchange.ts';

/** A request that came in at the webhook address. */
export interface WebhookRequest {
  /** Monotonic milliseconds when its head was read, and when the answer went out. */
  readonly at: number;
  readonly answeredAt: number;
  /** Wall clock, epoch milliseconds. */
  readonly receivedAt: number;
  readonly method: string;
  readonly path: string;
  /** Every value of each header, names in lower case. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** The parsed body; undefined when it is no JSON. */
  readonly json: unknown;
  /** The status it was answered with; 0 where it was not answered. */
  readonly status: number;
}

/** What a request gets. */
export interface WebhookAnswer {
  /** 0: no answer at all, the connection stays open. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Decides an answer from the request and those before it. */
export type AnswerRule = (
  request: Pick<WebhookRequest, 'path' | 'json'>,
  before: readonly WebhookRequest[],
) => WebhookAnswer;

/** Records deliveries and answers as it was told. */
export interface WebhookListener {
  readonly requests: readonly WebhookRequest[];
  /** The rule from now on; 200 for everything at first. */
  answerBy(rule: AnswerRule): void;
  /** Resolves with what `find` finds among the requests, now or once more came in. Rejects when `signal` aborts. */
  until<T>(find: (requests: readonly WebhookRequest[]) => T | undefined, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

const TOLD_HEADERS = /^(?:content-type|x-.+)$/;

/** A delivery as evidence: what came in, and the status that it was answered with. */
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
