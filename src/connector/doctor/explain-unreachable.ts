/** Why an address cannot be reached, and what to do. */
export interface Obstacle {
  readonly kind: 'name' | 'refused' | 'route' | 'tls' | 'deadline' | 'cut_off';
  readonly says: string;
  readonly advice: string;
}

const DEEPEST_CAUSE = 6;
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

/** The first meaningful code in an error or its causes. */
export function networkCode(error: unknown): string | null {
  let candidate: unknown = error;
  let last: string | null = null;
  for (let depth = 0; depth < DEEPEST_CAUSE && candidate instanceof Error; depth += 1) {
    const code: unknown = Reflect.get(candidate, 'code');
    if (typeof code === 'string' && code !== 'connect' && code !== 'network') last = code;
    const inner: unknown = Reflect.get(candidate, 'errors');
    candidate = candidate.cause ?? (Array.isArray(inner) ? inner[0] : undefined);
  }
  return last;
}

/** Distinguishes failures of names, routes, TLS and time-outs. `host` is shown. */
export function explainUnreachable(error: unknown, host: string): Obstacle {
  const code = networkCode(error) ?? '';
  if (NAME.has(code)) {
    return {
      kind: 'name',
      says: `The name ${host} cannot be resolved (${code}).`,
      advice: 'Check it for a typing mistake, and the name service of this machine (getent hosts NAME).',
    };
  }
  if (code === 'ECONNREFUSED') {
    return {
      kind: 'refused',
      says: `Nothing listens at ${host} (ECONNREFUSED).`,
      advice: 'Check the port, and whether what should listen there runs.',
    };
  }
  if (DEADLINE.has(code)) {
    return {
      kind: 'deadline',
      says: `${host} does not answer in time (${code === 'deadline' ? 'time-out' : code}).`,
      advice: 'Look for a firewall that drops packets, a proxy that is needed, or an overloaded server.',
    };
  }
  if (ROUTE.has(code)) {
    return {
      kind: 'route',
      says: `There is no way to ${host} (${code}).`,
      advice: 'Check the network and the firewall of this machine for outgoing connections.',
    };
  }
  if (TLS.test(code)) {
    return {
      kind: 'tls',
      says: `There is no TLS connection to ${host} that can be trusted (${code}).`,
      advice: tlsAdvice(code),
    };
  }
  return {
    kind: 'cut_off',
    says: `The connection to ${host} is cut off${code === '' ? '' : ` (${code})`}.`,
    advice: 'Something between here and there closes it: a proxy, a firewall, or the wrong port for TLS.',
  };
}

function tlsAdvice(code: string): string {
  if (code.includes('EXPIRED')) return 'Renew the certificate, or set the clock of this machine right.';
  if (code.includes('ALTNAME'))
    return 'The certificate is for another name: correct the address or the certificate.';
  if (/^ERR_SSL|EPROTO/.test(code))
    return 'Something else than TLS answers there: check the port and http or https.';
  return 'Serve the whole chain of the certificate, or name its authority in NODE_EXTRA_CA_CERTS.';
}
