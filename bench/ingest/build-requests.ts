import { createHmac } from 'node:crypto';
import { planEvent, serviceEvent } from './service-events.ts';

export interface RequestPlan {
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
  return Array.from({ length: count }, (_, index) => serviceRequest(plan, index));
}

/** Delivery and signature: HMAC-SHA256 over `<timestamp>.<raw body>`, hex. */
function serviceRequest(plan: RequestPlan, index: number): Buffer {
  const body = JSON.stringify(
    serviceEvent(planEvent(plan.run, index), index, plan.now - PAYLOAD_LEAD_MS + index),
  );
  const signature = createHmac('sha256', plan.secret).update(`${plan.now}.${body}`).digest('hex');
  return Buffer.from(
    `POST ${plan.path} HTTP/1.1\r\nHost: 127.0.0.1:${plan.port}\r\nContent-Type: application/json\r\n` +
      `X-Service-Timestamp: ${plan.now}\r\nX-Service-Signature: sha256=${signature}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
