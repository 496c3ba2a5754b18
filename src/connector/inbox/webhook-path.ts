const BASE = '/webhooks/messaging';

/** Which subscription a path names: `{}` the first one, null none that could exist, undefined: no webhook path. */
export type WebhookPath = { readonly subscriptionId?: string } | null | undefined;

/** Reads the path of a request target, query and all. Never throws. */
export function readWebhookPath(target: string): WebhookPath {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  if (path === BASE || path === `${BASE}/`) return {};
  if (!path.startsWith(`${BASE}/`)) return undefined;
  const id = path.slice(BASE.length + 1);
  if (id.includes('/')) return null;
  try {
    return { subscriptionId: decodeURIComponent(id) };
  } catch {
    return null;
  }
}
