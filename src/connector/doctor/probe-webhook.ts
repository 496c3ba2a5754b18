import { request } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { PublicReach } from './check-input.ts';

/** The response to an unsigned request to the address of the webhook. */
export interface ProbedWebhook {
  readonly status: number;
  /** The `error` of a JSON body, or null. */
  readonly error: string | null;
  readonly location: string | null;
  /** When the certificate expires, epoch milliseconds; null if unknown. */
  readonly certificateEndsAt: number | null;
}

const LARGEST_BODY = 4_096;

/**
 * Posts an empty, unsigned request. Follows no redirect, as the service does not. Throws what the network
 * throws.
 */
export function probeWebhook(url: string, reach: PublicReach, signal: AbortSignal): Promise<ProbedWebhook> {
  return new Promise((resolve, reject) => {
    const asking = request(url, {
      method: 'POST',
      signal,
      agent: false,
      headers: { 'content-length': 0, 'user-agent': 'messaging-connector doctor' },
      ...(reach.ca === undefined ? {} : { ca: reach.ca }),
      ...(reach.lookup === undefined ? {} : { lookup: reach.lookup }),
    });
    asking.on('error', reject);
    asking.on('response', (response) => {
      const certificate =
        response.socket instanceof TLSSocket
          ? Date.parse(response.socket.getPeerCertificate().valid_to)
          : NaN;
      let text = '';
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => {
        if (text.length < LARGEST_BODY) text += chunk.toString('latin1');
      });
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          error: errorOf(text),
          location: response.headers.location ?? null,
          certificateEndsAt: Number.isNaN(certificate) ? null : certificate,
        });
      });
    });
    asking.end();
  });
}

function errorOf(text: string): string | null {
  try {
    const error: unknown = Reflect.get(Object(JSON.parse(text)), 'error');
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}
