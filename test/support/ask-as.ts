import { type IncomingHttpHeaders, request as openRequest } from 'node:http';

export interface RawCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request to a local port as it is: fetch would rewrite its path, and allows no `Host`. */
export function askPort(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: RawCall = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    openRequest({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      const { statusCode: status = 0, headers: answered } = answer;
      answer.toArray().then((parts) => {
        resolve({ status, headers: answered, text: Buffer.concat(parts).toString() });
      }, reject);
    })
      .once('error', reject)
      .end(body);
  });
}

export interface AskOptions {
  readonly method?: string;
  /** Bearer token. */
  readonly key?: string;
  /** Sent as JSON. */
  readonly body?: object;
}

/** Sends a request to a local port with a different `Host`. */
export async function askAs(
  host: string,
  port: number,
  path: string,
  { method = 'GET', key, body }: AskOptions = {},
): Promise<Pick<RawAnswer, 'status' | 'text'>> {
  const headers = {
    host,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const { status, text } = await askPort(port, path, { method, headers, body: body && JSON.stringify(body) });
  return { status, text };
}
