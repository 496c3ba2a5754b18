import type { CreatedConnectorConnection } from '../../contract/connector/connections.ts';
import type { Account as AccountFigures } from '../../contract/service/account.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import { storeQuota } from '../accounts/quota.ts';
import { type CreationOutcome, createOnce } from '../connections/create-connection.ts';
import { type Creation, placeCreation } from '../connections/creation-store.ts';
import { readMirrorRow } from '../connections/mirror-row.ts';
import { isLostAnswer } from '../connections/repeat-call.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { ApiError, invalid } from './api-error.ts';
import { type ConnectionLifeOptions, isGone } from './connection-life.ts';
import { type Operation, OtherAnswer } from './operations.ts';
import { chooseAccount, describeServiceFailure, type PassedCodes } from './service-failure.ts';
import { requireClient } from './service-target.ts';

const REFUSALS: PassedCodes = {
  forbidden_portal_kind:
    'This workspace belongs to a CRM portal: its admin creates connections in the product, not through the API.',
  invalid_grant:
    'The grant of this account covers no connection any more: have its owner consent again, or use an API key.',
};

/** Of the figures that only inform; the creation does not wait longer for them. */
const FIGURES_WITHIN_MS = 5_000;

/**
 * `POST /v1/connections`: one connection for one request, whatever is lost on the way. The CRM's own
 * `Idempotency-Key` makes a repeat of its request the same request.
 */
export function createConnection(options: ConnectionLifeOptions): Operation<'createConnection'> {
  const { database, clock } = options;
  return async ({ body, header }) => {
    const requestKey = readKey(header(HEADERS.idempotencyKey));
    const account = await chooseAccount(database, body?.accountId);
    const client = requireClient(options, account);
    const label = body?.label ?? null;
    const request = { accountId: account.id, requestKey, label };
    const creation = await placeCreation(database, request, clock.now());
    if (creation.label !== label) {
      throw new ApiError('idempotency_key_reused', 'The Idempotency-Key was used before, with another body.');
    }
    if (creation.connectionId !== null) {
      return await answerKnown(options, client, creation, creation.connectionId);
    }
    const slots = await readSlots(options, client, account.id);
    const outcome = await create(options, client, creation, slots);
    if (outcome.kind === 'known') return await answerKnown(options, client, creation, outcome.connectionId);
    options.onChanged();
    const { id, status, qr } = outcome.connection;
    return { connection: { id, status, qr }, ...describeSlots(slots?.available ?? null) };
  };
}

/** Blank counts as absent, as at the service. */
function readKey(header: string | undefined): string | null {
  const key = header?.trim() ?? '';
  if (key.length > LIMITS.idempotencyKeyCharacters) {
    throw invalid(HEADERS.idempotencyKey, `must have ${LIMITS.idempotencyKeyCharacters} characters at most`);
  }
  return key === '' ? null : key;
}

async function create(
  { database, clock, presence, closing }: ConnectionLifeOptions,
  client: ServiceClient,
  creation: Creation,
  slots: AccountFigures['slots'] | null,
): Promise<Extract<CreationOutcome, { kind: 'created' | 'known' }>> {
  const outcome = await createOnce(
    { database, clock, presence, client, closing },
    creation,
    slots?.available ?? null,
  ).catch((error: unknown) => {
    throw isLostAnswer(error) ? describeDoubt(error) : describeServiceFailure(error, REFUSALS);
  });
  switch (outcome.kind) {
    case 'created':
    case 'known':
      return outcome;
    case 'in_progress':
      throw new ApiError(
        'idempotency_in_progress',
        'The service is still at it. Ask again with the same Idempotency-Key; see Retry-After.',
        outcome.retryAfterMs,
      );
    case 'unknown':
      throw new ApiError(
        'creation_unknown',
        'An answer was lost more than 23 hours ago, so another attempt could make a second connection. Look at ' +
          'the list of connections, and use another Idempotency-Key if it is not there.',
      );
  }
}

function describeDoubt({ code }: ServiceError): ApiError {
  return new ApiError(
    'service_unreachable',
    `The service does not answer (${code}), so it is not known yet whether the connection was created. The ` +
      'connector finds out and tells it in the feed; the same Idempotency-Key asks for the same connection.',
  );
}

/** What slots are free, read before. It only informs: without it the creation goes on. */
async function readSlots(
  { database, clock, closing }: ConnectionLifeOptions,
  client: ServiceClient,
  accountId: string,
): Promise<AccountFigures['slots'] | null> {
  const timeUp = new AbortController();
  const cancel = clock.after(FIGURES_WITHIN_MS, () => timeUp.abort());
  try {
    const figures = await client.readAccount(AbortSignal.any([closing, timeUp.signal]));
    await storeQuota(database, accountId, figures, clock.now());
    return figures.slots;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  } finally {
    cancel();
  }
}

function describeSlots(available: number | null): Omit<CreatedConnectorConnection, 'connection'> {
  const warning =
    available === 0
      ? 'All slots are used: the connection has no active licence, and cannot send, until a slot is bought or freed.'
      : null;
  return { slotsAvailable: available, warning };
}

/** The connection that an earlier attempt created, as it stands now. */
async function answerKnown(
  { database, closing }: ConnectionLifeOptions,
  client: ServiceClient,
  { slotsAvailable }: Creation,
  connectionId: string,
): Promise<OtherAnswer<CreatedConnectorConnection>> {
  const connection = await client.getConnection(connectionId, closing).catch(async (error: unknown) => {
    if (isGone(error)) throw new ApiError('not_found', 'The connection of this Idempotency-Key was deleted.');
    if (!(error instanceof ServiceError)) throw error;
    // It is there, whether or not the service answers now; a picture can wait.
    const row = await readMirrorRow(database, connectionId);
    return { id: connectionId, status: row?.status ?? null, qr: null };
  });
  const { id, status, qr } = connection;
  const answer = { connection: { id, status, qr }, ...describeSlots(slotsAvailable) };
  return new OtherAnswer(200, { [HEADERS.idempotencyReplayed]: 'true' }, answer);
}
