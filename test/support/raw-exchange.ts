import { connect, type Socket } from 'node:net';

/** What a connection returned until the server closed it. */
export interface RawExchange {
  readonly received: string;
  /** The status of each answer, in order. A body that looks like an answer would count, but none does. */
  readonly statuses: readonly number[];
}

const STATUS_LINE = /HTTP\/1\.1 (\d{3}) /g;

/** Sends bytes as they are, and resolves once the server has closed the connection. */
export function exchangeRaw(port: number, ...parts: readonly (string | Buffer)[]): Promise<RawExchange> {
  const { socket, closed } = openRaw(port);
  for (const part of parts) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
  return closed;
}

/** Opens a connection that the test writes to directly. */
export function openRaw(
  port: number,
  localAddress = '127.0.0.1',
): { socket: Socket; closed: Promise<RawExchange> } {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise<RawExchange>((resolve) => {
    socket.once('close', () => {
      const statuses = [...received.matchAll(STATUS_LINE)].map((match) => Number(match[1]));
      resolve({ received, statuses });
    });
  });
  return { socket, closed };
}
