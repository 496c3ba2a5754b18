import type { IncomingMessage } from 'node:http';
import {
  type CreatedConnectionAnswer,
  createConnectionRequest,
  type ReplayedConnectionAnswer,
} from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Answer } from '../calls/answer.ts';
import { readShape } from '../calls/read-shape.ts';
import { hashCanonical } from '../connections/canonical-json.ts';
import { detailStatus } from '../connections/connection-view.ts';
import { type CreateRequest, createConnection, type ExtendReach } from '../connections/create-connection.ts';
import { showPicture } from '../connections/pairing/pairing-sessions.ts';
import { extendKey } from '../credentials/api-keys.ts';
import type { Credential } from '../credentials/credential.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { checkStorable } from '../messages/check-storable.ts';
import { extendGrant } from '../oauth/grants.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import { defineEndpoint, type Endpoint, type RawInput } from './endpoint.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes a header as UTF-8, of which each byte is one character; returns it unchanged if it is not UTF-8. */
function decode(value: string): string {
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/**
 * The idempotency key of a create; null if it is absent or blank. Throws `idempotency_key_invalid` for more than 255
 * characters, counted in code points, and `invalid_request` for several headers.
 * [connections.create.idempotency.not-cut]
 */
export function readIdempotencyKey({ headersDistinct }: IncomingMessage): string | null {
  const field = HEADERS.idempotencyKey;
  const [value, second] = headersDistinct[field.toLowerCase()] ?? [];
  if (second !== undefined) throw new PlatformError('invalid_request', { field, hint: 'given twice' });
  const key = decode(value ?? '');
  // [connections.create.idempotency.blank] [connections.create.key-optional]
  if (key.trim() === '') return null;
  const { length } = [...key];
  // [connections.create.idempotency.too-long] [errors.idempotency_key_invalid]
  if (length > LIMITS.idempotencyKeyCharacters) {
    throw new PlatformError('idempotency_key_invalid', { why: `the key has ${length} characters` });
  }
  return key;
}

interface Dependencies {
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
}

/**
 * No body is equal to an empty one. The hash covers the whole body, including unknown fields.
 * [connections.create.body.optional]
 */
function readRequest({ body = {}, request }: RawInput): CreateRequest {
  const key = readIdempotencyKey(request);
  const { label = '' } = readShape(createConnectionRequest, body);
  checkStorable('label', label);
  return { label, key: key === null ? null : { key, bodyHash: hashCanonical(body) } };
}

/**
 * A grant is only issued over existing connections, so it cannot create the first one.
 * [connections.create.first-not-by-oauth] [choice.oauth.grant] [errors.invalid_grant]
 */
function requireGranted({ kind, connectionIds }: Credential): void {
  // [connections.create.first-by-key] [auth.key.first-connection]
  if (kind === 'oauth' && connectionIds?.length === 0) {
    throw new PlatformError('invalid_grant', { why: 'no connection of the grant exists any more' });
  }
}

const extendReach: ExtendReach = ({ tx }, { kind, id }, connectionId) =>
  (kind === 'oauth' ? extendGrant : extendKey)(tx, id, connectionId);

// [connections.create.idempotency.replay-header] [connections.create.replay-answer]
function replay(body: ReplayedConnectionAnswer): Answer {
  return { status: 200, headers: { [HEADERS.idempotencyReplayed]: 'true' }, body };
}

/** `POST /connections`. */
export function createConnectionEndpoint({ changeState, clock }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.createConnection,
    // [connections.create.standalone-only] [service.portal.made-inside]
    onlyFor: 'standalone',
    read: readRequest,
    async handle(credential, request): Promise<Answer> {
      requireGranted(credential);
      const { connection, pairing, replayed } = await createConnection(
        changeState,
        credential,
        request,
        extendReach,
      );
      const { id, state } = connection;
      const shown = { id, status: detailStatus(connection) };
      if (replayed && state === 'live') return replay({ connection: shown });
      const qr = showPicture(id, pairing, clock.now());
      // [connections.create.idempotency.replay-qr]
      if (replayed) return replay({ connection: { ...shown, qr } });
      const body: CreatedConnectionAnswer = { connection: { ...shown, qr } };
      // [connections.create.answer] [connections.create.idempotency.new] [state.created.qr]
      return { status: 201, body };
    },
  });
}
