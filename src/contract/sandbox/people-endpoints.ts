import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import * as connections from './connections.ts';
import * as contacts from './contacts.ts';
import { sandboxPageQuery } from './lists.ts';
import { READ_ERRORS, type SandboxEndpoint, WRITE_ERRORS } from './sandbox-endpoint.ts';

const onConnection = [...WRITE_ERRORS, 'not_found'] as const;

/** People and phones: owners of connections, and those who write to them. */
export const PEOPLE_ENDPOINTS = {
  scan: {
    method: 'POST',
    path: '/connections/{id}/scan',
    summary: 'The phone of the owner scans the picture.',
    body: { schema: connections.scanRequest, required: true },
    answers: [{ status: 200, description: 'Paired.', schema: acknowledgement }],
    errors: [...onConnection, 'qr_expired', 'wrong_state', 'already_connected', 'not_supported_for_provider'],
  },
  enterCode: {
    method: 'POST',
    path: '/connections/{id}/enter-code',
    summary: 'The owner types the pairing code.',
    body: { schema: connections.enterCodeRequest, required: true },
    answers: [{ status: 200, description: 'Paired.', schema: acknowledgement }],
    errors: [
      ...onConnection,
      'code_expired',
      'wrong_state',
      'already_connected',
      'not_supported_for_provider',
    ],
  },
  causeOutage: {
    method: 'POST',
    path: '/connections/{id}/outage',
    summary: 'Breaks a connection.',
    body: { schema: connections.outageRequest, required: true },
    answers: [
      { status: 200, description: 'Broken; the service finds out in time.', schema: acknowledgement },
    ],
    errors: [...onConnection, 'wrong_state', 'not_supported_for_provider'],
  },
  recover: {
    method: 'POST',
    path: '/connections/{id}/recover',
    summary: 'The session works again.',
    answers: [{ status: 200, description: 'Works.', schema: acknowledgement }],
    errors: [...onConnection, 'wrong_state', 'not_supported_for_provider'],
  },
  setOwnerPhone: {
    method: 'POST',
    path: '/connections/{id}/phone',
    summary: 'Switches the phone of the owner on or off, and blocks contacts.',
    body: { schema: connections.ownerPhoneRequest, required: true },
    answers: [{ status: 200, description: 'As it stands now.', schema: connections.ownerPhone }],
    errors: [...onConnection, 'not_supported_for_provider'],
  },
  putContact: {
    method: 'PUT',
    path: '/contacts/{phone}',
    summary: 'Sets how a person on the network behaves.',
    body: { schema: contacts.putContactRequest, required: true },
    answers: [{ status: 200, description: 'As it stands now.', schema: contacts.contact }],
    errors: WRITE_ERRORS,
  },
  contactWrites: {
    method: 'POST',
    path: '/contacts/{phone}/messages',
    summary: 'The person writes to a connection.',
    body: { schema: contacts.contactWritesRequest, required: true },
    answers: [{ status: 201, description: 'Written.', schema: contacts.contactWrote }],
    errors: [...onConnection, 'wrong_state', 'send_failed'],
  },
  listContactMessages: {
    method: 'GET',
    path: '/contacts/{phone}/messages',
    summary: 'Lists what that phone really received, oldest first.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: contacts.phoneMessageList }],
    errors: [...READ_ERRORS, 'invalid_request'],
  },
  moveStatus: {
    method: 'POST',
    path: '/messages/{id}/status',
    summary: 'Moves one outgoing message by hand.',
    body: { schema: connections.moveStatusRequest, required: true },
    answers: [{ status: 200, description: 'As it stands now.', schema: connections.movedStatus }],
    errors: onConnection,
  },
} as const satisfies Readonly<Record<string, SandboxEndpoint>>;
