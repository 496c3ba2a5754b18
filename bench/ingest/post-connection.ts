import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
/** A server that stays silent this long is broken. */
const SILENCE_MS = 30_000;

/**
 * A keep-alive HTTP/1.1 connection for one request at a time, much cheaper than a full client, so that the
 * generator takes little of the machine that the servers are measured on. Reads answers with a
 * `Content-Length`; anything else is an error. Connects again after the server closed an idle connection.
 */
export function createPostConnection(port: number) {
  let socket: Socket | undefined;
  let received = '';
  let answer: PromiseWithResolvers<number> | undefined;
  const close = (): void => {
    socket?.destroy();
    socket = undefined;
  };

  const open = (): Socket => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true });
    const lose = (error: Error): void => {
      if (socket !== opened) return;
      socket = undefined;
      received = '';
      answer?.reject(error);
    };
    opened.setEncoding('latin1');
    opened.setTimeout(SILENCE_MS, () => opened.destroy(new Error('no answer in 30 s')));
    opened.on('data', read);
    opened.on('error', lose);
    opened.on('close', () => lose(new Error('the server closed the connection')));
    return opened;
  };

  const read = (chunk: string): void => {
    received = received === '' ? chunk : received + chunk;
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = received.slice(0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      socket?.destroy(new Error('an answer without Content-Length'));
      return;
    }
    if (received.length < headEnd + HEAD_END.length + Number(length)) return;
    received = '';
    if (/\r\nconnection: *close/i.test(head)) close();
    answer?.resolve(Number(head.slice(9, 12)));
  };

  return {
    close,
    /** Sends one request and resolves with the status of its answer; rejects when the connection fails first. */
    post(request: Buffer): Promise<number> {
      answer = Promise.withResolvers();
      socket ??= open();
      socket.write(request);
      return answer.promise;
    },
  };
}
