import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import type { Logger } from '../logger/logger.ts';
import { describeLocation, leavesMachine, parseUrl } from './database-url.ts';

/** Connections are in the clear, encrypted where the server offers it, or always, with these options of the handshake. */
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
/** The server's consent to TLS. */
const YES = 'S'.charCodeAt(0);
/** A message of 8 bytes that asks for it: its length and 80877103. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const PARAMETERS = /([?&])(?:sslmode|ssl)=[^&#]*(&|(?=#|$))/g;

function modeOf(url: string): string | null {
  const { searchParams } = parseUrl(url);
  return searchParams.get('sslmode') ?? searchParams.get('ssl');
}

/**
 * What `sslmode` in the URL asks for, read as libpq reads it and for both drivers alike. Without it connections are in
 * the clear. A mode that is not known means the strictest, as `verify-full` does.
 */
export function tlsOf(url: string): Tls {
  const mode = modeOf(url);
  return mode === null ? 'never' : (MODES[mode] ?? {});
}

/** The URL without what `tlsOf` reads, for a driver that would read it in another way. */
export function withoutSslmode(url: string): string {
  return url.replace(PARAMETERS, '$1').replace(/[?&]$/, '');
}

/** Says loudly that others can read along, or answer in the server's place, unless the URL says that it is meant. */
export function warnOfExposure(url: string, logger: Logger): void {
  if (!leavesMachine(url)) return;
  const mode = modeOf(url);
  const tls = tlsOf(url);
  const location = describeLocation(url);
  if (mode === null) {
    logger.warn(
      { location },
      'connections to Postgres on another machine are not encrypted; add ?sslmode=verify-full to DATABASE_URL, or ?sslmode=disable where the network is trusted',
    );
  } else if (tls === 'offered' || tls === UNCHECKED) {
    logger.warn(
      { location, sslmode: mode },
      'connections to Postgres are encrypted, but whoever answers is trusted; set sslmode=verify-full in DATABASE_URL',
    );
  }
}

/**
 * Protects an open socket as a session's is. Resolves with what to write to. Throws when the server refuses TLS that
 * must be, or when the handshake fails.
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
    throw new Error('the server takes no TLS');
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
