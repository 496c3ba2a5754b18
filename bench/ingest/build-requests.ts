import { createHmac } from 'node:crypto';
import { planEvent, serviceEvent } from './service-events.ts';

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

/** The JSON of a `customer.updated` event, of about 1 KB, for a customer of its own. `at` is in epoch ms. */
function writeStripeEvent(run: number, index: number, at: number): string {
  const number = `${run.toString(36).padStart(4, '0')}${index.toString(36).padStart(8, '0')}`;
  const created = Math.floor(at / 1000);
  const unset = ['address', 'default_source', 'description', 'discount', 'phone'];
  const invoice = ['custom_fields', 'default_payment_method', 'footer', 'rendering_options'];
  const nulls = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]));
  const customer = {
    ...{ id: `cus_${number}`, object: 'customer', ...nulls(unset), balance: 0, created, currency: 'eur' },
    ...{ delinquent: false, email: `customer-${number}@example.com`, invoice_prefix: number.toUpperCase() },
    ...{ invoice_settings: nulls(invoice), livemode: false, metadata: {}, name: `Customer ${number}` },
    ...{ next_invoice_sequence: 1, preferred_locales: [], shipping: null, tax_exempt: 'none' },
  };
  return JSON.stringify({
    ...{ id: `evt_${number}`, object: 'event', api_version: '2020-08-27', created },
    data: { object: customer, previous_attributes: { delinquent: true } },
    ...{ livemode: false, pending_webhooks: 1, request: { id: null, idempotency_key: null } },
    type: 'customer.updated',
  });
}
