import {
  DELIVERY_KEYS,
  type Delivery as DeliveryAnswer,
  type RegisteredWebhook,
} from '../../contract/sandbox/deliveries.ts';
import { exactly, type Filter } from '../../contract/sandbox/filter.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import { messageStatus } from '../../contract/service/statuses.ts';
import { listedText } from '../../platform/kernel/recorded-text.ts';
import type { Platform } from '../../platform/platform.ts';
import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';
import type { LedgerEntry } from '../../platform/webhooks/ledger.ts';
import type { DeliveryValue } from '../../platform/webhooks/list-deliveries.ts';
import type { SignedBody } from '../../platform/webhooks/signed-body.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageAfter, pageOf, readCursor } from '../control/page-cursor.ts';
import { readFilter } from '../control/read-filter.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import type { DeliveryControl } from '../deliveries/control-deliveries.ts';
import { tamperBody, tamperSignature } from '../faults/shape-attempt.ts';

/** Adds what to do about a host name that does not resolve: open a tunnel. */
function explainError(error: string, url: string | null): string {
  if (error !== 'name_not_resolved' || url === null) return error;
  return `${error}; PUT /sandbox/v1/hosts/${new URL(url).hostname} opens a tunnel`;
}

/** A delivery in a list or a stream, with little of each response. */
export function presentDelivery(record: DeliveryRecord): DeliveryAnswer {
  return present(record, listedText);
}

/** A delivery by itself. */
const presentWhole = (record: DeliveryRecord): DeliveryAnswer => present(record, (text) => text);

function present(record: DeliveryRecord, textOf: (text: string) => string): DeliveryAnswer {
  const { id, event, connectionId, messageId, url, outcome, reason, held, createdAt, headers, body } = record;
  const { subscriptionId, workspaceId, variantOf } = record;
  return {
    id: String(id),
    ...(variantOf === null ? {} : { copyOf: String(variantOf) }),
    event,
    workspaceId,
    connectionId,
    messageId,
    subscription: { kind: subscriptionId === workspaceId ? 'workspace' : 'app', id: subscriptionId },
    url,
    outcome,
    ...(reason === null ? {} : { reason }),
    ...(held ? { held } : {}),
    createdAt: toIso(createdAt),
    headers: { ...headers },
    body,
    attempts: record.attempts.map(({ at, marks, error, response, ...attempt }) => ({
      at: toIso(at),
      ...attempt,
      ...(response && { response: { headers: { ...response.headers }, body: textOf(response.body) } }),
      ...(error === undefined ? {} : { error: explainError(error, url) }),
      ...(marks === undefined ? {} : { faults: [...marks] }),
    })),
  };
}

/** A ledger entry as the control API shows it. */
export function presentEntry({ seq, at, event, connectionId, messageId, status, payload }: LedgerEntry) {
  return {
    seq,
    at: toIso(at),
    event,
    connectionId,
    messageId,
    ...(status === null ? {} : { status: messageStatus.parse(status) }),
    payload,
  };
}

/** Deliveries in the list of webhooks, for each of them. */
const LAST = 10;

function summarize(record: DeliveryRecord): RegisteredWebhook['lastDeliveries'][number] {
  const { id, event, outcome, createdAt, attempts } = record;
  const { status, error } = attempts.at(-1) ?? {};
  return { id: String(id), event, outcome, createdAt: toIso(createdAt), ...givenFields({ status, error }) };
}

function refuseUnknown(): never {
  throw new SandboxError('not_found', 'No delivery has this id.');
}

function refuseUnsigned(): never {
  throw new SandboxError('wrong_state', 'The workspace of this delivery has no webhook.');
}

function readId(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : refuseUnknown();
}

/** A filter of deliveries. The service does not know faults: for it, they are marks of attempts. */
function readDeliveryFilter(q: string | undefined): Filter<DeliveryValue> {
  const filter = readFilter(DELIVERY_KEYS, q);
  return filter.map((clause) =>
    clause.map(({ key, ...term }) => ({ ...term, key: key === 'fault' ? 'mark' : key })),
  );
}

/** What is altered after signing. */
export const TAMPERED = {
  body: ({ body, ...signed }: SignedBody): SignedBody => ({ ...signed, body: tamperBody(body) }),
  signature: ({ signature, ...signed }: SignedBody): SignedBody => ({
    ...signed,
    signature: tamperSignature(signature),
  }),
  timestamp: ({ timestamp, ...signed }: SignedBody): SignedBody => ({ ...signed, timestamp: timestamp + 1 }),
} as const;

/** Deliveries, and the events that the service meant to deliver. */
export function deliveryEndpoints(
  { delivery, ledger, webhooks, workspaces }: Platform,
  control: DeliveryControl,
) {
  return {
    async listDeliveries(
      { query: { limit, cursor, q, event, workspaceId, connectionId, outcome } },
      within = '',
    ) {
      const before = cursor === undefined ? undefined : readCursor(cursor);
      const given = { type: event, status: outcome, workspace: workspaceId, connection: connectionId };
      const where = [...readDeliveryFilter(q), ...readDeliveryFilter(within), ...exactly(given)];
      const records = await delivery.list({ where, limit: limit + 1, ...givenFields({ before }) });
      return pageOf(records, limit, presentDelivery, ({ id }) => id);
    },

    countDeliveries: ({ query: { q } }) => delivery.count(readDeliveryFilter(q)),

    async listWebhooks({ query: { limit, cursor } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const found = await webhooks.list({ skip, limit: limit + 1 });
      const listed = await Promise.all(
        found.slice(0, limit).map(async ({ subscriptionId: id, url, changedAt }) => ({
          subscription: {
            kind: (await workspaces.exists(id)) ? ('workspace' as const) : ('app' as const),
            id,
          },
          url,
          changedAt: toIso(changedAt),
          lastDeliveries: (await delivery.list({ where: exactly({ webhook: id }), limit: LAST })).map(
            summarize,
          ),
        })),
      );
      const { nextCursor } = pageAfter(skip, found, limit, () => null);
      return { entries: listed, ...givenFields({ nextCursor }) };
    },

    async readDelivery({ param }) {
      return presentWhole((await delivery.find(readId(param('id')))) ?? refuseUnknown());
    },

    async resendDelivery({ param, body: { tamper, ...again } = {} }) {
      const alter =
        tamper === undefined ? {} : { alter: { name: `tamper_${tamper}`, change: TAMPERED[tamper] } };
      const asked = { ...givenFields(again), ...alter };
      const record = (await control.resend(readId(param('id')), asked)) ?? refuseUnknown();
      if (record === 'waiting') {
        throw new SandboxError('wrong_state', 'The delivery has not started; there is nothing to resend.');
      }
      return record === 'unsigned' ? refuseUnsigned() : presentWhole(record);
    },

    async copyDelivery({ param, body = {} }) {
      const record = (await control.copy(readId(param('id')), givenFields(body))) ?? refuseUnknown();
      return record === 'unsigned' ? refuseUnsigned() : presentWhole(record);
    },

    async explainSignature({ param, body }) {
      const explained = (await control.explain(readId(param('id')), givenFields(body))) ?? refuseUnknown();
      if (explained !== 'waiting') return explained;
      throw new SandboxError('wrong_state', 'The delivery has not been signed; there is nothing to compare.');
    },

    async holdDelivery({ param }) {
      const record = (await control.hold(readId(param('id')))) ?? refuseUnknown();
      if (record === 'over') throw new SandboxError('wrong_state', 'This delivery has no further attempt.');
      return presentWhole(record);
    },

    async releaseDelivery({ param }) {
      const record = (await control.release(readId(param('id')))) ?? refuseUnknown();
      if (record === 'not_held') throw new SandboxError('wrong_state', 'This delivery is not held.');
      return presentWhole(record);
    },

    async readLedger({ query: { after, before, order, limit } }) {
      const range = givenFields({ after, before, newestFirst: order === 'newest' });
      const entries = await ledger.read(range, limit + 1);
      const last = entries[limit - 1];
      return {
        entries: entries.slice(0, limit).map(presentEntry),
        ...(entries.length > limit && last !== undefined ? { nextCursor: String(last.seq) } : {}),
      };
    },
  } satisfies Handlers;
}
