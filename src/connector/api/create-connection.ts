import type { CreatedConnectorConnection } from '../../contract/connector/connections.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadAccount } from '../../contract/service/read-answers.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import { storeQuota } from '../accounts/quota.ts';
import { type CreationOutcome, createOnce, IN_PROGRESS_PAUSE_MS } from '../connections/create-connection.ts';
import { type Creation, placeCreation } from '../connections/creation-store.ts';
import { readMirrorRow } from '../db/connection-rows.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { isLostAnswer, isRefusal, ServiceError } from '../service-client/service-errors.ts';
import { ApiError, invalid } from './api-error.ts';
import { isGone } from './connection-life.ts';
import { type ApiParts, type Operation, OtherAnswer } from './operations.ts';
import { chooseAccount, describeServiceFailure, type PassedCodes } from './service-failure.ts';
import { requireClient } from './service-target.ts';

const REFUSALS: PassedCodes = {
  forbidden_portal_kind:
    'This workspace belongs to a CRM portal: its admin creates connections in the product, not through the API.',
  invalid_grant:
    'The grant of this account no longer covers any connection: have its owner consent again, or use an API key.',
};

/** Timeout for the figures: they only inform, so the creation does not wait longer for them. */
const FIGURES_WITHIN_MS = 5_000;

/**
 * `POST /v1/connections`: one connection per request, whatever is lost on the way. With the CRM's own
 * `Idempotency-Key`, a repeated request counts as the same request.
 */
export function createConnection(options: ApiParts): Operation<'createConnection'> {
  const { database, clock } = options;
  return async ({ body, header }) => {
    const requestKey = readKey(header(HEADERS.idempotencyKey));
    const account = await chooseAccount(database, body?.accountId);
    const client = requireClient(options, account);
    const label = body?.label ?? null;
    const request = { accountId: account.id, requestKey, label };
    const creation = await placeCreation(database, request, clock.now());
    if (creation.label !== label) {
      throw new ApiError(
        'idempotency_key_reused',
        'The Idempotency-Key was already used with a different body.',
      );
    }
    if (creation.connectionId !== null) {
      return await answerKnown(options, client, creation, creation.connectionId);
    }
    const slots = await readSlots(options, client, account.id);
    const outcome = await create(options, client, creation, slots);
    if (outcome.kind === 'known') return await answerKnown(options, client, creation, outcome.connectionId);
    options.feed.notify();
    const { id, status, qr } = outcome.connection;
    return { connection: { id, status, qr }, ...describeSlots(slots?.available ?? null) };
  };
}

/** A blank key is treated as absent, as by the service. */
function readKey(header: string | undefined): string | null {
  const key = header?.trim() ?? '';
  if (key.length > LIMITS.idempotencyKeyCharacters) {
    throw invalid(HEADERS.idempotencyKey, `must have at most ${LIMITS.idempotencyKeyCharacters} characters`);
  }
  return key === '' ? null : key;
}

async function create(
  { database, clock, closing }: ApiParts,
  client: ServiceClient,
  creation: Creation,
  slots: ReadAccount['slots'],
): Promise<Extract<CreationOutcome, { kind: 'created' | 'known' }>> {
  const options = { database, clock, client, closing };
  const outcome = await createOnce(options, creation, slots?.available ?? null).catch((error: unknown) => {
    throw describeFailure(error);
  });
  if (outcome.kind !== 'unknown') return outcome;
  throw new ApiError(
    'creation_unknown',
    'A response was lost more than 23 hours ago, so another attempt could create a second connection. Check ' +
      'the list of connections, and use a new Idempotency-Key if the connection is not there.',
  );
}

function describeFailure(error: unknown): unknown {
  if (isLostAnswer(error)) return describeDoubt(error);
  if (!isRefusal(error, 'idempotency_in_progress')) return describeServiceFailure(error, REFUSALS);
  return new ApiError(
    'idempotency_in_progress',
    'The service is still processing the request. Retry with the same Idempotency-Key; see Retry-After.',
    Math.max(error.retryAfterMs ?? 0, IN_PROGRESS_PAUSE_MS),
  );
}

function describeDoubt({ code }: ServiceError): ApiError {
  return new ApiError(
    'service_unreachable',
    `The service does not respond (${code}), so it is not known yet whether the connection was created. The ` +
      'connector finds out and reports it in the feed; retry with the same Idempotency-Key to get the same connection.',
  );
}

/** The free slots, read beforehand. They only inform: the creation continues without them. */
async function readSlots(
  { database, clock, closing }: ApiParts,
  client: ServiceClient,
  accountId: string,
): Promise<ReadAccount['slots']> {
  try {
    const figures = await abortAfter(
      clock,
      FIGURES_WITHIN_MS,
      (signal) => client.readAccount(signal),
      closing,
    );
    await storeQuota(database, accountId, figures, clock.now());
    return figures.slots;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

function describeSlots(available: number | null): Omit<CreatedConnectorConnection, 'connection'> {
  const warning =
    available === 0
      ? 'All slots are used: the connection has no active license and cannot send until a slot is bought or freed.'
      : null;
  return { slotsAvailable: available, warning };
}

/** The connection that an earlier attempt created, in its current state. */
async function answerKnown(
  { database, closing }: ApiParts,
  client: ServiceClient,
  { slotsAvailable }: Creation,
  connectionId: string,
): Promise<OtherAnswer<CreatedConnectorConnection>> {
  const connection = await client.getConnection(connectionId, closing).catch(async (error: unknown) => {
    if (isGone(error))
      throw new ApiError('not_found', 'The connection created with this Idempotency-Key was deleted.');
    if (!(error instanceof ServiceError)) throw error;
    // The connection exists whether or not the service responds now; the QR code can wait.
    const row = await readMirrorRow(database, connectionId);
    return { id: connectionId, status: row?.status ?? null, qr: null };
  });
  const { id, status, qr } = connection;
  const answer = { connection: { id, status, qr }, ...describeSlots(slotsAvailable) };
  return new OtherAnswer(200, { [HEADERS.idempotencyReplayed]: 'true' }, answer);
}
