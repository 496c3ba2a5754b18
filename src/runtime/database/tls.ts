import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import type { Logger } from '../logger/logger.ts';
import { describeLocation, leavesMachine, parseUrl } from './database-url.ts';

/**
 * Connections are unencrypted, encrypted if the server offers it, or always encrypted, with these options of
 * the handshake.
 */
export type Tls = 'never' | 'offered' | ConnectionOptions;

const UNCHECKED: ConnectionOptions = { rejectUnauthorized: false };
const MODES: Readonly<Record<string, Tls>> = {
  disable: 'never',
  false: 'never',
  allow: 'offered',
  prefer: 'offered',
  require: UNCHECKED,
  'no-verify': UNCHECKED,
  'verify-ca': { checkServerIdentity: () => undefined },
};
/** The server's reply that accepts TLS. */
const YES = 'S'.charCodeAt(0);
/** The 8-byte message that requests TLS: its length and 80877103. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

function modeOf(url: string): string | null {
  const { searchParams } = parseUrl(url);
  return searchParams.get('sslmode') ?? searchParams.get('ssl');
}

/**
 * The TLS mode that `sslmode` in the URL requests, interpreted as by libpq.
 * Without it, connections are unencrypted. An unknown mode means the strictest, as `verify-full` does.
 */
export function tlsOf(url: string): Tls {
  const mode = modeOf(url);
  return mode === null ? 'never' : (MODES[mode] ?? {});
}

/**
 * Warns that others can read the traffic, or impersonate the server, unless the URL states that this is
 * intended.
 */
export function warnOfExposure(url: string, logger: Logger): void {
  if (!leavesMachine(url)) return;
  const mode = modeOf(url);
  const tls = tlsOf(url);
  const location = describeLocation(url);
  if (mode === null) {
    logger.warn(
      { location },
      'connections to Postgres on another machine are not encrypted; add ?sslmode=verify-full to DATABASE_URL, or ?sslmode=disable if the network is trusted',
    );
  } else if (tls === 'offered' || tls === UNCHECKED) {
    logger.warn(
      { location, sslmode: mode },
      "connections to Postgres are encrypted, but the server's certificate is not verified; set sslmode=verify-full in DATABASE_URL",
    );
  }
}

/**
 * Secures an open socket as required for the session. Resolves with the stream to write to. Throws if the
 * server rejects a required TLS, or if the handshake fails.
 */
export async function secureSocket(socket: Socket, host: string | undefined, tls: Tls): Promise<Socket> {
  if (tls === 'never') return socket;
  const answer = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.write(SSL_REQUEST);
  });
  socket.removeAllListeners();
  if (answer[0] !== YES) {
    if (tls === 'offered') return socket;
    throw new Error('the server does not support TLS');
  }
  const named = host === undefined || isIP(host) > 0 ? {} : { servername: host };
  const secured = connect({ socket, ...named, ...(tls === 'offered' ? UNCHECKED : tls) });
  await new Promise<void>((resolve, reject) => {
    secured.once('secureConnect', resolve);
    secured.once('error', reject);
    secured.once('close', () => reject(new Error('the connection was closed')));
  });
  secured.removeAllListeners();
  return secured;
}
