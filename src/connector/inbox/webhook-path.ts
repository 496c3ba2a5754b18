const BASE = '/webhooks/messaging';

/**
 * The subscription that a path names: `{}` is the first one, null one that cannot exist, undefined a path
 * that is not a webhook path.
 */
export type WebhookPath = { readonly subscriptionId?: string } | null | undefined;

/**
 * Why deliveries to a public address may never arrive: the connector does not serve its path. Null if it does. A proxy
 * may rewrite the path, so this may be right.
 */
export function explainPath(publicUrl: string): string | null {
  const { pathname } = new URL(publicUrl);
  if (pathname === BASE || pathname === `${BASE}/`) return null;
  return `WEBHOOK_PUBLIC_URL has the path ${pathname}, but the connector receives webhooks at ${BASE}: unless a proxy rewrites the path, every delivery is answered with 404.`;
}

/** Parses the path of a request target, including its query. A slash at its end makes no difference. Never throws. */
export function readWebhookPath(target: string): WebhookPath {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  if (path === BASE || path === `${BASE}/`) return {};
  if (!path.startsWith(`${BASE}/`)) return undefined;
  const id = path.slice(BASE.length + 1).replace(/\/$/, '');
  if (id === '' || id.includes('/')) return null;
  try {
    return { subscriptionId: decodeURIComponent(id) };
  } catch {
    return null;
  }
}
