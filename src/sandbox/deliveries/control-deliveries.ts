import type { SignatureExplanation } from '../../contract/sandbox/signatures.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import type { Envelope } from '../../platform/webhooks/active-delivery.ts';
import type { SignedBody } from '../../platform/webhooks/attempt-slots.ts';
import type { Destination, WebhookConfiguration } from '../../platform/webhooks/configuration.ts';
import type { Delivery } from '../../platform/webhooks/delivery.ts';
import type { Attempt, DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type Computed, explainSignature } from './explain-signature.ts';
import type { HeldDeliveries, HoldableRecord } from './held-deliveries.ts';
import type { IssuedSecrets } from './issued-secrets.ts';

interface ResendOptions {
  /** Signs again with the present secret: signatures older than five minutes are refused. */
  readonly resign?: boolean;
  /** How often; default once. */
  readonly times?: number;
  /** Alters the signed request; `name` appears in the record. */
  readonly alter?: { readonly name: string; change(signed: SignedBody): SignedBody };
}

/** The same bytes with the old or a new signature. Null if there is no secret. */
function resendEnvelope(
  record: DeliveryRecord,
  options: ResendOptions,
  current: Destination | null,
  now: number,
): Envelope | null {
  const signed = options.resign === true ? null : signedBefore(record);
  const envelope = signed ?? signNow(record, current, now);
  return envelope === null ? null : { ...envelope, ...options.alter?.change(envelope) };
}

function signedBefore(record: DeliveryRecord): Envelope | null {
  const timestamp = record.headers[HEADERS.timestamp];
  const signature = record.headers[HEADERS.signature];
  if (record.url === null || timestamp === undefined || signature === undefined) return null;
  return {
    url: record.url,
    secret: null,
    timestamp: Number(timestamp),
    signature,
    headers: unsignedHeaders(record),
    body: Buffer.from(record.body),
  };
}

function signNow(record: DeliveryRecord, current: Destination | null, now: number): Envelope | null {
  if (current === null) return null;
  const body = Buffer.from(record.body);
  const signature = signEvent(current.secret, now, body);
  return { ...current, timestamp: now, signature, headers: unsignedHeaders(record), body };
}

type Headers = Readonly<Record<string, string>>;

/** What a delivery carries besides its timestamp and signature. */
function unsignedHeaders({ headers }: DeliveryRecord): Headers {
  const { [HEADERS.timestamp]: _, [HEADERS.signature]: __, ...others } = headers;
  return others;
}

/** Replaces headers whatever the case of their names, and adds the others. */
function mergeHeaders(before: Headers, after: Headers): Headers {
  const known = new Map(['Content-Type', ...Object.keys(before)].map((name) => [name.toLowerCase(), name]));
  const named = Object.entries(after).map(([name, value]) => [known.get(name.toLowerCase()) ?? name, value]);
  return { ...before, ...Object.fromEntries(named) };
}

/** What a copy carries in place of what the delivery carries. */
interface CopyOptions {
  readonly body?: string;
  /** In addition to those of the delivery, or in their place. */
  readonly headers?: Headers;
}

/** Holds, releases and resends deliveries. */
export interface DeliveryControl {
  /**
   * Holds a pending delivery before its next attempt: one in progress continues, and if it succeeds, the delivery
   * ends. A delivery that has not begun is signed when it is released; one between attempts keeps its signature, which
   * becomes stale. Null for an unknown id, `over` if no attempt remains.
   */
  hold(id: number): Promise<HoldableRecord | 'over' | null>;
  /** Lets a held delivery continue, at once if its next attempt is due. */
  release(id: number): Promise<HoldableRecord | 'not_held' | null>;
  /**
   * Sends the bytes of a delivery again, to where they went before, each time as one attempt more of the same
   * delivery. Resolves when all have ended; with null for an unknown id, with `waiting` for one that has not begun,
   * with `unsigned` when nothing was ever signed and no webhook is set to sign for.
   */
  resend(id: number, options?: ResendOptions): Promise<HoldableRecord | 'waiting' | 'unsigned' | null>;
  /**
   * Sends a copy of a delivery, changed and signed with the current secret, as a separate delivery: with its own
   * attempts, subject to faults, and in no ledger. Resolves when it waits for its first attempt; with null for an unknown
   * id, with `unsigned` when no webhook is set to sign for.
   */
  copy(id: number, options?: CopyOptions): Promise<HoldableRecord | 'unsigned' | null>;
  /** Why a signature is not the one of a delivery. Null for an unknown id, `waiting` for one that was never signed. */
  explain(id: number, computed: Computed): Promise<SignatureExplanation | 'waiting' | null>;
}

interface Options {
  readonly delivery: Delivery;
  readonly webhooks: WebhookConfiguration;
  readonly held: HeldDeliveries;
  readonly secrets: IssuedSecrets;
  /** The system clock. */
  readonly clock: Clock;
  /** Called with each delivery that was changed. */
  readonly onChange: (record: HoldableRecord) => void;
}

export function controlDeliveries(options: Options): DeliveryControl {
  const { delivery, webhooks, held, secrets, clock, onChange } = options;
  const changed = async (id: number): Promise<HoldableRecord | null> => {
    const record = await delivery.find(id);
    if (record === null) return null;
    const seen = held.view(record);
    onChange(seen);
    return seen;
  };

  return {
    async hold(id) {
      if ((await delivery.find(id)) === null) return null;
      if (!delivery.isOpen(id)) return 'over';
      held.hold(id);
      return changed(id);
    },
    async release(id) {
      if ((await delivery.find(id)) === null) return null;
      return held.release(id) && delivery.isOpen(id) ? changed(id) : 'not_held';
    },
    async resend(id, options = {}) {
      const record = await delivery.find(id);
      if (record === null) return null;
      if (record.outcome === 'pending' && record.url === null) return 'waiting';
      const current = webhooks.destination(record.subscriptionId);
      const envelope = resendEnvelope(record, options, current, clock.now());
      if (envelope === null) return 'unsigned';
      const { times = 1, alter } = options;
      const marks = alter === undefined ? {} : { marks: [alter.name] };
      const once = async (): Promise<Attempt> => ({
        ...(await delivery.sendOnce(record.subscriptionId, envelope)),
        ...marks,
      });
      const attempts = await Promise.all(Array.from({ length: times }, once));
      await delivery.append(id, envelope, attempts);
      return changed(id);
    },
    async explain(id, computed) {
      const record = await delivery.find(id);
      if (record === null) return null;
      const signed = signedBefore(record);
      return signed === null
        ? 'waiting'
        : explainSignature(signed, computed, secrets.of(record.subscriptionId));
    },
    async copy(id, { body, headers = {} } = {}) {
      const record = await delivery.find(id);
      if (record === null) return null;
      if (webhooks.destination(record.subscriptionId) === null) return 'unsigned';
      const copied = await delivery.vary({
        of: id,
        body: (body ?? record.body).toWellFormed(),
        headers: mergeHeaders(unsignedHeaders(record), headers),
      });
      return copied === null ? null : held.view(copied);
    },
  };
}
