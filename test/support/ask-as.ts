import { request as openRequest } from 'node:http';

export interface AskOptions {
  readonly method?: string;
  /** Bearer token. */
  readonly key?: string;
  /** Sent as JSON. */
  readonly body?: object;
}

/** Sends a request to a local port with a different `Host`, which fetch does not allow. */
export function askAs(
  host: string,
  port: number,
  path: string,
  { method = 'GET', key, body }: AskOptions = {},
): Promise<{ status: number; text: string }> {
  const headers = {
    host,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    openRequest({ host: '127.0.0.1', port, path, method, headers }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, text: (await answer.toArray()).join('') });
    })
      .once('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}
