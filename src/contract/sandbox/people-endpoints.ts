import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import * as connections from './connections.ts';
import * as contacts from './contacts.ts';
import { sandboxPageQuery } from './lists.ts';
import { listStoredMessagesQuery, storedMessageList } from './messages.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';

/** People and phones: the owners of connections, and the contacts who write to them. */
export const PEOPLE_ENDPOINTS = defineEndpoints({
  listConnections: {
    method: 'GET',
    path: '/connections',
    summary: 'Lists the connections of all workspaces, by default the oldest first.',
    query: connections.listConnectionsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connections.connectionList }],
  },
  readConnection: {
    method: 'GET',
    path: '/connections/{id}',
    summary: 'Returns a connection with its license, warm-up, phone and every change of its status.',
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectionDetail }],
  },
  scan: {
    method: 'POST',
    path: '/connections/{id}/scan',
    summary: "Scans a QR code, or the current one, with the owner's phone.",
    body: { schema: connections.scanRequest, required: true },
    answers: [{ status: 200, description: 'Paired.', schema: acknowledgement }],
    errors: ['qr_expired', 'wrong_state', 'already_connected', 'not_supported_for_provider'],
  },
  enterCode: {
    method: 'POST',
    path: '/connections/{id}/enter-code',
    summary: "Types the pairing code into the owner's phone.",
    body: { schema: connections.enterCodeRequest, required: true },
    answers: [{ status: 200, description: 'Paired.', schema: acknowledgement }],
    errors: ['code_expired', 'wrong_state', 'already_connected', 'not_supported_for_provider'],
  },
  causeOutage: {
    method: 'POST',
    path: '/connections/{id}/outage',
    summary: 'Breaks a connection.',
    body: { schema: connections.outageRequest, required: true },
    answers: [
      {
        status: 200,
        description: 'The session is broken; the service detects it after a while.',
        schema: acknowledgement,
      },
    ],
    errors: ['wrong_state', 'not_supported_for_provider'],
  },
  recover: {
    method: 'POST',
    path: '/connections/{id}/recover',
    summary: 'Makes the session work again.',
    answers: [{ status: 200, description: 'The session works again.', schema: acknowledgement }],
    errors: ['wrong_state', 'not_supported_for_provider'],
  },
  setOwnerPhone: {
    method: 'POST',
    path: '/connections/{id}/phone',
    summary: "Switches the owner's phone on or off, and blocks contacts.",
    body: { schema: connections.ownerPhoneRequest, required: true },
    answers: [
      { status: 200, description: 'The current state of the phone.', schema: connections.ownerPhone },
    ],
    errors: ['not_supported_for_provider'],
  },
  listContacts: {
    method: 'GET',
    path: '/contacts',
    summary:
      'Lists the people whose behavior was set, who have written or were written to, ordered by phone number.',
    query: contacts.listContactsQuery,
    answers: [{ status: 200, description: 'A page.', schema: contacts.contactList }],
  },
  readContact: {
    method: 'GET',
    path: '/contacts/{phone}',
    summary: 'Returns the behavior of a person on the network: the default one unless it was set.',
    answers: [{ status: 200, description: 'The current behavior.', schema: contacts.contact }],
    errors: ['invalid_request'],
  },
  putContact: {
    method: 'PUT',
    path: '/contacts/{phone}',
    summary: 'Sets the behavior of a person on the network.',
    body: { schema: contacts.putContactRequest, required: true },
    answers: [{ status: 200, description: 'The current behavior.', schema: contacts.contact }],
  },
  contactWrites: {
    method: 'POST',
    path: '/contacts/{phone}/messages',
    summary: 'Sends a message from the person to a connection.',
    body: { schema: contacts.contactWritesRequest, required: true },
    answers: [{ status: 201, description: 'Sent.', schema: contacts.contactWrote }],
    errors: ['not_found', 'wrong_state', 'send_failed'],
  },
  listContactMessages: {
    method: 'GET',
    path: '/contacts/{phone}/messages',
    summary: 'Lists what that phone actually received, oldest first.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: contacts.phoneMessageList }],
  },
  listStoredMessages: {
    method: 'GET',
    path: '/messages',
    summary: 'Lists the messages of all workspaces as the service stores them, newest first.',
    query: listStoredMessagesQuery,
    answers: [{ status: 200, description: 'A page.', schema: storedMessageList }],
  },
  moveStatus: {
    method: 'POST',
    path: '/messages/{id}/status',
    summary: 'Sets the status of one outgoing message by hand.',
    body: { schema: connections.moveStatusRequest, required: true },
    answers: [{ status: 200, description: 'The current status.', schema: connections.movedStatus }],
  },
});
