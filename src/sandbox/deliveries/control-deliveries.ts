import { and, eq, sql } from 'drizzle-orm';
import type { SignatureExplanation } from '../../contract/sandbox/signatures.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { deliveries } from '../../platform/db/webhook-tables.ts';
import type { WebhookConfiguration } from '../../platform/webhooks/configuration.ts';
import type { Delivery } from '../../platform/webhooks/delivery.ts';
import type { DeliveryRecord, Envelope } from '../../platform/webhooks/delivery-record.ts';
import { isSuccess } from '../../platform/webhooks/send-attempt.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import { type SignedBody, shapeRequest } from '../../platform/webhooks/signed-body.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { type Computed, explainSignature } from './explain-signature.ts';
import type { IssuedSecrets } from './issued-secrets.ts';

interface ResendOptions {
  /** Signs again with the present secret: signatures older than five minutes are refused. */
  readonly resign?: boolean;
  /** How often; default once. */
  readonly times?: number;
  /** Alters the signed request; `name` appears in the record. */
  readonly alter?: { readonly name: string; change(signed: SignedBody): SignedBody };
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

interface Options {
  readonly database: Queryable;
  readonly delivery: Delivery;
  readonly webhooks: WebhookConfiguration;
  readonly secrets: IssuedSecrets;
  /** The system clock. */
  readonly clock: Clock;
  /** Called with each delivery that was changed. */
  readonly onChange: (record: DeliveryRecord) => void;
}

export type DeliveryControl = ReturnType<typeof controlDeliveries>;

/** Holds, releases and resends deliveries. */
export function controlDeliveries(options: Options) {
  const { database, delivery, webhooks, secrets, clock, onChange } = options;

  const changed = async (id: number): Promise<DeliveryRecord | null> => {
    const record = await delivery.find(id);
    if (record !== null) onChange(record);
    return record;
  };

  /** Sets whether a pending delivery is held; false if it is over, or was so already when it is to be released. */
  const setHeld = async (id: number, held: boolean): Promise<boolean> => {
    const isReleased = held ? undefined : eq(deliveries.held, true);
    const rows = await orm(database)
      .update(deliveries)
      .set({ held })
      .where(and(eq(deliveries.id, id), eq(deliveries.outcome, 'pending'), isReleased))
      .returning({ id: deliveries.id });
    return rows.length > 0;
  };

  /** The same bytes with the old or a new signature. Null if there is no secret. */
  const envelopeOf = (record: DeliveryRecord, resign: boolean): Envelope | null => {
    const { subscriptionId, envelope } = record;
    if (envelope !== null && !resign) return envelope;
    const current = webhooks.destination(subscriptionId);
    if (current === null) return null;
    const body = Buffer.from(record.body);
    const timestamp = clock.now();
    const signature = signEvent(current.secret, timestamp, body);
    return { ...current, timestamp, signature, headers: unsignedHeaders(record), body };
  };

  return {
    /**
     * Holds a pending delivery before its next attempt: one in progress continues, and if it succeeds, the delivery
     * ends. A delivery that has not begun is signed when it is released; one between attempts keeps its signature, which
     * becomes stale. Null for an unknown id, `over` if no attempt remains.
     */
    async hold(id: number): Promise<DeliveryRecord | 'over' | null> {
      if ((await delivery.find(id)) === null) return null;
      return (await setHeld(id, true)) ? changed(id) : 'over';
    },
    /** Lets a held delivery continue, at once if its next attempt is due. */
    async release(id: number): Promise<DeliveryRecord | 'not_held' | null> {
      const record = await delivery.find(id);
      if (record === null) return null;
      if (!(await setHeld(id, false))) return 'not_held';
      return changed(id).finally(() => delivery.wake([record.subscriptionId]));
    },
    /**
     * Sends the bytes of a delivery again, to where they went before, each time as one attempt more of the same
     * delivery. Resolves when all have ended; with null for an unknown id, with `waiting` for one that has not begun,
     * with `unsigned` when nothing was ever signed and no webhook is set to sign for.
     */
    async resend(
      id: number,
      { resign = false, times = 1, alter }: ResendOptions = {},
    ): Promise<DeliveryRecord | 'waiting' | 'unsigned' | null> {
      const record = await delivery.find(id);
      if (record === null) return null;
      if (record.outcome === 'pending' && record.envelope === null) return 'waiting';
      const envelope = envelopeOf(record, resign);
      if (envelope === null) return 'unsigned';
      const marks = alter === undefined ? {} : { marks: [alter.name] };
      for (let sent = 0; sent < times; sent += 1) {
        const request = shapeRequest(alter?.change(envelope) ?? envelope);
        const attempt = await delivery.send(record.subscriptionId, envelope.url, request);
        const added = JSON.stringify([{ ...attempt, ...marks }]);
        const { attempts, outcome, reason, url, secret, signedAt } = deliveries;
        const isAccepted = sql`${outcome} = 'dropped' and ${isSuccess(attempt)}`;
        await orm(database)
          .update(deliveries)
          .set({
            attempts: sql`${attempts} || ${added}::jsonb`,
            outcome: sql`case when ${isAccepted} then 'delivered' else ${outcome} end`,
            reason: sql`case when ${isAccepted} then null else ${reason} end`,
            url: sql`coalesce(${url}, ${envelope.url})`,
            secret: sql`coalesce(${secret}, ${envelope.secret})`,
            signedAt: sql`coalesce(${signedAt}, ${envelope.timestamp})`,
          })
          .where(eq(deliveries.id, id));
      }
      return changed(id);
    },
    /** Why a signature is not the one of a delivery. Null for an unknown id, `waiting` for one that was never signed. */
    async explain(id: number, computed: Computed): Promise<SignatureExplanation | 'waiting' | null> {
      const record = await delivery.find(id);
      if (record === null) return null;
      const { envelope, subscriptionId } = record;
      return envelope === null ? 'waiting' : explainSignature(envelope, computed, secrets.of(subscriptionId));
    },
    /**
     * Sends a copy of a delivery, changed and signed with the current secret, as a separate delivery: with its own
     * attempts, subject to faults, and in no ledger. Resolves when it waits for its first attempt; with null for an
     * unknown id, with `unsigned` when no webhook is set to sign for.
     */
    async copy(
      id: number,
      { body, headers = {} }: CopyOptions = {},
    ): Promise<DeliveryRecord | 'unsigned' | null> {
      const record = await delivery.find(id);
      if (record === null) return null;
      const { eventId, subscriptionId } = record;
      if (webhooks.destination(subscriptionId) === null) return 'unsigned';
      const now = clock.now();
      const variant = {
        of: id,
        body: (body ?? record.body).toWellFormed(),
        headers: mergeHeaders(unsignedHeaders(record), headers),
      };
      const [row] = await orm(database)
        .insert(deliveries)
        .values({ eventId, subscriptionId, createdAt: now, dueAt: now, variant })
        .returning({ id: deliveries.id });
      const copied = row === undefined ? Promise.resolve(null) : changed(row.id);
      return copied.finally(() => delivery.wake([subscriptionId]));
    },
  };
}
