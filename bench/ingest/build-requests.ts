import { createHmac } from 'node:crypto';
import { planEvent, serviceEvent } from './service-events.ts';
import { writeStripeEvent } from './stripe-events.ts';

/** Which sender a server expects. */
export type Dialect = 'service' | 'stripe';

export interface RequestPlan {
  readonly dialect: Dialect;
  readonly port: number;
  readonly path: string;
  readonly secret: string;
  /** Numbers the run, so that no two runs share an event. */
  readonly run: number;
  /** Wall-clock time of the signatures, epoch ms. */
  readonly now: number;
}

/** Payload timestamps start this far back, so that a run's last event is still in the past. */
const PAYLOAD_LEAD_MS = 600_000;

/** Writes `count` signed HTTP requests, each the bytes of one unique event. */
export function buildRequests(plan: RequestPlan, count: number): Buffer[] {
  const write = plan.dialect === 'service' ? serviceRequest : stripeRequest;
  return Array.from({ length: count }, (_, index) => write(plan, index));
}

/** Delivery and signature: HMAC-SHA256 over `<timestamp>.<raw body>`, hex. */
function serviceRequest(plan: RequestPlan, index: number): Buffer {
  const body = JSON.stringify(
    serviceEvent(planEvent(plan.run, index), index, plan.now - PAYLOAD_LEAD_MS + index),
  );
  const signature = hmac(plan.secret, `${plan.now}.${body}`);
  return httpPost(
    plan,
    body,
    `X-Service-Timestamp: ${plan.now}\r\nX-Service-Signature: sha256=${signature}\r\n`,
  );
}

function stripeRequest(plan: RequestPlan, index: number): Buffer {
  const body = writeStripeEvent(plan.run, index, plan.now);
  const seconds = Math.floor(plan.now / 1000);
  return httpPost(
    plan,
    body,
    `Stripe-Signature: t=${seconds},v1=${hmac(plan.secret, `${seconds}.${body}`)}\r\n`,
  );
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

function httpPost(plan: RequestPlan, body: string, headers: string): Buffer {
  return Buffer.from(
    `POST ${plan.path} HTTP/1.1\r\nHost: 127.0.0.1:${plan.port}\r\nContent-Type: application/json\r\n` +
      `${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
