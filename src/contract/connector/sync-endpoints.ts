import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import {
  addAccountRequest,
  connectorAccount,
  connectorAccountList,
  startedGrant,
  startGrantRequest,
} from './accounts.ts';
import { change, changeList, deadLetterList, listChangesQuery, streamChangesQuery } from './changes.ts';
import {
  API_ERRORS,
  BODY_ERRORS,
  type ConnectorEndpoint,
  SERVICE_CALL_ERRORS,
} from './connector-endpoint.ts';
import { accountQuery, pageQuery } from './lists.ts';
import { syncRequest, syncStatus } from './sync.ts';

/** Accounts, the change feed and the state of synchronisation. */
export const SYNC_ENDPOINTS = {
  listAccounts: {
    method: 'GET',
    path: '/v1/accounts',
    right: 'read',
    summary: 'Lists the accounts.',
    query: z.strictObject(pageQuery),
    answers: [{ status: 200, description: 'A page.', schema: connectorAccountList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  addAccount: {
    method: 'POST',
    path: '/v1/accounts',
    right: 'operate',
    summary: 'Adds an account by its API key.',
    body: { schema: addAccountRequest, required: true },
    answers: [{ status: 201, description: 'Added.', schema: connectorAccount }],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      'account_exists',
      ...SERVICE_CALL_ERRORS.filter((code) => code !== 'account_required' && code !== 'reauth_required'),
    ],
  },
  startGrant: {
    method: 'POST',
    path: '/v1/accounts/oauth',
    right: 'operate',
    summary: 'Starts an OAuth grant; the callback of the connector finishes it.',
    body: { schema: startGrantRequest, required: false },
    answers: [{ status: 201, description: 'Where to send the browser.', schema: startedGrant }],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      'not_found',
      'oauth_not_configured',
      'service_refused',
      'service_unreachable',
    ],
  },
  finishGrant: {
    method: 'GET',
    path: '/oauth/callback',
    summary: 'Finishes an OAuth grant; guarded by `state`.',
    credential: false,
    query: z.object({
      state: z.string(),
      code: z.string().optional(),
      error: z.string().optional(),
      iss: z.string().optional(),
    }),
    answers: [
      {
        status: 200,
        description: 'A page that says it is done, or that leads on to the `returnUrl` of the consent.',
        contentType: 'text/html',
        schema: z.string(),
      },
    ],
    // Refusals are pages, too; their status says as much as a browser needs.
    errors: [],
  },
  removeAccount: {
    method: 'DELETE',
    path: '/v1/accounts/{id}',
    right: 'operate',
    summary: 'Removes an account and its credential.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found', 'account_configured'],
  },
  listChanges: {
    method: 'GET',
    path: '/v1/changes',
    right: 'read',
    summary: 'Lists what changed, in order and without gaps.',
    query: listChangesQuery,
    answers: [{ status: 200, description: 'A page.', schema: changeList }],
    errors: [...API_ERRORS, 'invalid_request', 'beyond_feed'],
  },
  streamChanges: {
    method: 'GET',
    path: '/v1/changes/stream',
    right: 'read',
    summary: 'Streams changes as they come; each event has its `seq` as id.',
    query: streamChangesQuery,
    requestHeaders: [
      { name: 'Last-Event-ID', description: 'The last `seq` that was taken; the stream resumes after it.' },
    ],
    answers: [
      {
        status: 200,
        description: 'Server-sent events; the data of each is one change. Comments are heartbeats.',
        contentType: 'text/event-stream',
        schema: change,
        headers: [
          {
            name: 'Feed-Id',
            description: 'Names the feed, as `feedId` of `GET /v1/changes`.',
            required: true,
          },
        ],
      },
    ],
    errors: [...API_ERRORS, 'invalid_request', 'beyond_feed'],
  },
  getSync: {
    method: 'GET',
    path: '/v1/sync',
    right: 'read',
    summary: 'Says how far each account and connection is in step with the service.',
    query: accountQuery,
    answers: [{ status: 200, description: 'The state.', schema: syncStatus }],
    errors: [...API_ERRORS, 'invalid_request', 'not_found'],
  },
  syncNow: {
    method: 'POST',
    path: '/v1/sync',
    right: 'operate',
    summary: 'Polls now and answers when the poll has closed the gap.',
    body: { schema: syncRequest, required: false },
    answers: [{ status: 200, description: 'The state afterwards.', schema: syncStatus }],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      'not_found',
      'sync_unfinished',
      ...SERVICE_CALL_ERRORS.filter((code) => code !== 'account_required' && code !== 'reauth_required'),
    ],
  },
  listDeadLetters: {
    method: 'GET',
    path: '/v1/dead-letters',
    right: 'read',
    summary: 'Lists changes that the handler of the CRM could not take.',
    query: z.strictObject(pageQuery),
    answers: [{ status: 200, description: 'A page.', schema: deadLetterList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  replayDeadLetter: {
    method: 'POST',
    path: '/v1/dead-letters/{id}/replay',
    right: 'operate',
    summary: 'Hands the change over once more.',
    answers: [{ status: 202, description: 'Will be handed over.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
  removeDeadLetter: {
    method: 'DELETE',
    path: '/v1/dead-letters/{id}',
    right: 'operate',
    summary: 'Gives the change up.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
