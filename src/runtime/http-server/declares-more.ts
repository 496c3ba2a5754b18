import type { IncomingMessage } from 'node:http';

/** Whether a request declares a body of more than `limit` bytes. */
export function declaresMore({ headers }: Pick<IncomingMessage, 'headers'>, limit: number): boolean {
  return Number(headers['content-length'] ?? 0) > limit;
}
