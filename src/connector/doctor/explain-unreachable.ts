import { describeError, type ErrorDescription } from '../../runtime/logger/describe-error.ts';

/** Why an address cannot be reached, and what to do. */
export interface Obstacle {
  readonly kind: 'name' | 'refused' | 'route' | 'tls' | 'deadline' | 'cut_off';
  readonly says: string;
  readonly advice: string;
}

/** The codes of Node and OpenSSL for problems with a certificate or a handshake. */
const TLS = /CERT|SELF_SIGNED|SIGNATURE|UNABLE_TO_|^ERR_(?:SSL|TLS)_|EPROTO/;
const NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA']);
const ROUTE: ReadonlySet<string> = new Set([
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
]);
const DEADLINE: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'deadline',
]);

/** Codes of the client's own errors, which say less than those of their causes. */
const VAGUE: ReadonlySet<unknown> = new Set(['connect', 'network']);

/** The innermost code in an error and its causes that says something; empty if none does. */
function networkCode({ code, cause }: ErrorDescription): string {
  const inner = cause === undefined ? '' : networkCode(cause);
  return inner || (typeof code === 'string' && !VAGUE.has(code) ? code : '');
}

/** Distinguishes failures of names, routes, TLS and time-outs. `host` is shown. */
export function explainUnreachable(error: unknown, host: string): Obstacle {
  const code = networkCode(describeError(error));
  if (NAME.has(code)) {
    return {
      kind: 'name',
      says: `The name ${host} cannot be resolved (${code}).`,
      advice: 'Check its spelling, and the DNS configuration of this machine (getent hosts NAME).',
    };
  }
  if (code === 'ECONNREFUSED') {
    return {
      kind: 'refused',
      says: `Nothing listens at ${host} (ECONNREFUSED).`,
      advice: 'Check the port, and whether the server runs.',
    };
  }
  if (DEADLINE.has(code)) {
    return {
      kind: 'deadline',
      says: `${host} does not answer in time (${code === 'deadline' ? 'time-out' : code}).`,
      advice: 'Look for a firewall that drops packets, a proxy that is required, or an overloaded server.',
    };
  }
  if (ROUTE.has(code)) {
    return {
      kind: 'route',
      says: `There is no route to ${host} (${code}).`,
      advice: 'Check the network and the firewall of this machine for outgoing connections.',
    };
  }
  if (TLS.test(code)) {
    return {
      kind: 'tls',
      says: `A trusted TLS connection to ${host} cannot be established (${code}).`,
      advice: tlsAdvice(code),
    };
  }
  return {
    kind: 'cut_off',
    says: `The connection to ${host} was closed unexpectedly${code === '' ? '' : ` (${code})`}.`,
    advice: 'Possible causes are a proxy, a firewall, or the wrong port for TLS.',
  };
}

function tlsAdvice(code: string): string {
  if (code.includes('EXPIRED')) return 'Renew the certificate, or correct the clock of this machine.';
  if (code.includes('ALTNAME'))
    return 'The certificate is for a different name: correct the address or the certificate.';
  if (/^ERR_SSL|EPROTO/.test(code))
    return 'The server does not use TLS on this port: check the port, and whether the address starts with http or https.';
  return 'Serve the complete certificate chain, or set NODE_EXTRA_CA_CERTS to a file with its certificate authority.';
}
