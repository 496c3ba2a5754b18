import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { readCookies } from '../../runtime/http-server/read-cookies.ts';

/**
 * Number of consents that one browser may have open. Beyond it, the oldest loses its cookie. Each takes about
 * 100 bytes.
 */
const MAX_OPEN = 10;
const SECRET = /^[\w-]{43}$/;
/** Enough characters of a hash to distinguish the consents of one browser. */
const NAME_CHARACTERS = 22;

/** The cookies that bind consents to browsers: one for each consent, so that a browser can have several. */
export interface BrowserCookies {
  /** The secret that the browser has for a consent; null if it has none. */
  read(request: Request, flowId: string): string | null;
  /**
   * A new secret for a consent, and the `Set-Cookie` lines that store it in the browser until the consent
   * expires.
   */
  issue(
    request: Request,
    flow: { readonly id: string; readonly lifetimeMs: number },
  ): { readonly secret: string; readonly lines: readonly string[] };
}

/**
 * Cookies for the connector at this public address. On https their names begin with `__Host-`: only this host
 * can set them, and they are never sent over plain http. Plain http is possible only on this machine. A browser
 * may refuse `Secure` there (Safari does), and with it the prefix, so both are omitted; then other programs on
 * this machine, at any port of the same host, can read and set the cookie.
 */
export function createBrowserCookies(publicUrl: string): BrowserCookies {
  const isSecure = new URL(publicUrl).protocol === 'https:';
  const prefix = `${isSecure ? '__Host-' : ''}messaging-consent-`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const nameOf = (flowId: string): string => `${prefix}${flowId.slice(0, NAME_CHARACTERS)}`;

  return {
    read(request, flowId) {
      const secret = readCookies(request.headers.cookie).get(nameOf(flowId));
      return secret !== undefined && SECRET.test(secret) ? secret : null;
    },
    issue(request, { id, lifetimeMs }) {
      const secret = randomBytes(32).toString('base64url');
      const others = [...readCookies(request.headers.cookie).keys()].filter(
        (name) => name.startsWith(prefix) && name !== nameOf(id),
      );
      const dropped = others.slice(0, Math.max(0, others.length - MAX_OPEN + 1));
      const seconds = Math.ceil(lifetimeMs / 1_000);
      return {
        secret,
        lines: [
          ...dropped.map((name) => `${name}=; Max-Age=0; ${attributes}`),
          `${nameOf(id)}=${secret}; Max-Age=${seconds}; ${attributes}`,
        ],
      };
    },
  };
}
