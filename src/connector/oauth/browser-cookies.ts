import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { readCookies } from '../../runtime/http-server/read-cookies.ts';

/** Consents that one browser may have open at once; beyond it the oldest loses its cookie. Each is some 100 bytes. */
const MAX_OPEN = 10;
const SECRET = /^[\w-]{43}$/;
/** Enough of a hash to tell the flows of one browser apart. */
const NAME_CHARACTERS = 22;

/** The cookies by which consents are bound to browsers: one for each consent, so that several stand side by side. */
export interface BrowserCookies {
  /** The secret of a flow that the browser has; null: it has none. */
  read(request: Request, flowId: string): string | null;
  /** A new secret for a flow, and the `Set-Cookie` lines that give it to the browser until the flow ends. */
  issue(
    request: Request,
    flow: { readonly id: string; readonly lifetimeMs: number },
  ): { readonly secret: string; readonly lines: readonly string[] };
}

/**
 * Cookies for the connector at this public address. On https their names begin with `__Host-`: nobody but this very
 * host can set them, and they never go over plain http. The address may be plain http on this machine alone. There a
 * browser may refuse `Secure` (Safari does), and with it the prefix, so both are left out; what is lost is that other
 * programs on this machine, at any port of the same host, can read and set the cookie.
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
