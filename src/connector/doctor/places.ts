/** How a customer can renew the grant of an account. */
export function howToConsent(accountId: string): string {
  return `Call POST /v1/accounts/oauth with {"accountId": "${accountId}"} and send the customer to the authorizationUrl of the answer. The account keeps its messages and connections.`;
}

/** Where people manage keys, licenses and connections: a portal, or `call` of the sandbox. */
export function inPortal({ sandboxUrl }: { readonly sandboxUrl?: string | undefined }, call: string): string {
  return sandboxUrl === undefined ? 'in the developer portal' : `with ${call} at ${sandboxUrl}/sandbox/v1`;
}

/** The host at which a server that listens on `host` can be called: a wildcard address becomes loopback. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
