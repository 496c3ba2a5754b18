import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import { identifier } from '../service/fields.ts';
import {
  addAccountRequest,
  connectorAccount,
  connectorAccountList,
  listAccountsQuery,
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
import { findingList } from './findings.ts';
import { ofAccount, pageQuery } from './lists.ts';
import { statistics, statisticsQuery } from './statistics.ts';
import { syncRequest, syncResult, syncStatus } from './sync.ts';

/** Accounts, the change feed and the state of synchronization. */
export const SYNC_ENDPOINTS = {
  listAccounts: {
    method: 'GET',
    path: '/v1/accounts',
    right: 'read',
    summary: 'Lists the accounts.',
    description: 'Oldest first, with slots and licenses that expire soon. A credential is never returned.',
    query: listAccountsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connectorAccountList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  addAccount: {
    method: 'POST',
    path: '/v1/accounts',
    right: 'operate',
    summary: 'Adds an account with an API key.',
    description:
      'The key is tested at the service first; if the service rejects it, no account is added. Then the connector registers the webhook of the account (if `WEBHOOK_PUBLIC_URL` is set) and starts polling it.',
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
    right: 'write',
    summary: 'Starts an OAuth grant and returns the URL for the customer.',
    description:
      "Send the customer's browser to `authorizationUrl`. With `accountId`, the customer renews the consent of that account, which keeps its id, messages and connections. Nothing changes before the customer consents, so the right `write` is sufficient.",
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
  openGrant: {
    method: 'GET',
    path: '/oauth/start/{token}',
    summary: 'Asks the customer to continue to the service; protected by the token in the URL.',
    description:
      'Changes nothing, so link scanners may request it. The page sets a cookie and contains a form that posts to the same URL. A browser that has already continued is redirected with 303.',
    credential: false,
    answers: [
      {
        status: 200,
        description:
          'A page that names the account the numbers will be connected to, with a form to continue.',
        contentType: 'text/html',
        schema: z.string(),
        headers: [
          {
            name: 'Set-Cookie',
            description:
              'The cookie of this consent: `__Host-`, `Secure`, `HttpOnly`, `SameSite=Lax`, valid until the consent ends. Without `Secure` and the prefix if `CONNECTOR_PUBLIC_URL` is plain http on this machine.',
          },
        ],
      },
    ],
    // Errors are pages, too; their status is all that a browser needs.
    errors: [],
  },
  goOnWithGrant: {
    method: 'POST',
    path: '/oauth/start/{token}',
    summary: 'Binds the consent to the browser that posts the form and sends it to the service.',
    description:
      'Requires the cookie of the page. Another browser cannot take over the consent: it gets a 403 page that explains why.',
    credential: false,
    answers: [
      {
        status: 303,
        description: 'Redirect to the authorization server.',
        headers: [
          {
            name: 'Location',
            description: 'URL of the authorization server, with `state` and PKCE.',
            required: true,
          },
        ],
      },
    ],
    errors: [],
  },
  finishGrant: {
    method: 'GET',
    path: '/oauth/callback',
    summary: 'Finishes an OAuth grant; protected by `state` and the cookie of the consent.',
    description: 'Only the authorization server redirects to this URL. Errors are pages, too.',
    credential: false,
    query: z.object({
      state: z.string().describe('The value that started the consent. It can be used once.'),
      code: z.string().optional().describe('The authorization code, if the customer allowed access.'),
      error: z.string().optional().describe('Otherwise the error code, such as `access_denied`.'),
      iss: z
        .string()
        .optional()
        .describe('The authorization server that issued the response; any other is rejected.'),
    }),
    answers: [
      {
        status: 200,
        description: 'A page that reports success, or that redirects to the `returnUrl` of the consent.',
        contentType: 'text/html',
        schema: z.string(),
      },
    ],
    // Errors are pages, too; their status is all that a browser needs.
    errors: [],
  },
  removeAccount: {
    method: 'DELETE',
    path: '/v1/accounts/{id}',
    right: 'operate',
    summary: 'Removes an account and its credential.',
    description:
      'Its messages, connections and changes are kept; its connections are hidden (`visible` false) until another account lists them. An account configured in the environment cannot be removed here.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found', 'account_configured'],
  },
  listChanges: {
    method: 'GET',
    path: '/v1/changes',
    right: 'read',
    summary: 'Lists what changed, in order and without gaps.',
    description:
      'Pass `nextCursor`, or the last `seq` that you processed, as `after`: no change is skipped or repeated. Store `feedId`, too; if it changes, read from the start.',
    query: listChangesQuery,
    answers: [{ status: 200, description: 'A page.', schema: changeList }],
    errors: [...API_ERRORS, 'invalid_request', 'beyond_feed', 'changes_deleted'],
  },
  streamChanges: {
    method: 'GET',
    path: '/v1/changes/stream',
    right: 'read',
    summary: 'Streams changes as they happen; the id of each event is its `seq`.',
    description:
      'The same feed as `GET /v1/changes`. `Last-Event-ID` takes precedence over `after`, so an `EventSource` resumes by itself. Each process serves at most 200 streams.',
    query: streamChangesQuery,
    requestHeaders: [
      {
        name: 'Last-Event-ID',
        description: 'The last `seq` that you processed; the stream resumes after it.',
      },
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
            description: 'Id of the feed, as `feedId` of `GET /v1/changes`.',
            required: true,
          },
        ],
      },
    ],
    errors: [...API_ERRORS, 'invalid_request', 'beyond_feed', 'changes_deleted'],
  },
  getSync: {
    method: 'GET',
    path: '/v1/sync',
    right: 'read',
    summary: 'Returns how far each account and connection is in sync with the service.',
    description:
      'Check `coveredUntil` to see until when nothing is missing, and `webhookHealth` to see whether webhooks arrive.',
    query: z.strictObject({ accountId: ofAccount }),
    answers: [{ status: 200, description: 'The state of synchronization.', schema: syncStatus }],
    errors: [...API_ERRORS, 'invalid_request', 'not_found'],
  },
  getStatistics: {
    method: 'GET',
    path: '/v1/statistics',
    right: 'read',
    summary: 'Returns what all processes counted, over the last hour or day.',
    description:
      'Each process adds its counts every 5 s; a killed one loses those of up to 5 s. For people and charts: `GET /metrics` is for alerts.',
    query: statisticsQuery,
    answers: [{ status: 200, description: 'The counts of each slot.', schema: statistics }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getFindings: {
    method: 'GET',
    path: '/v1/doctor',
    right: 'read',
    summary: 'Examines what the database shows, and names what is wrong and what to do.',
    description:
      'The checks of `npm run doctor` that need only the database. They run at most every 30 s; `at` says when.',
    answers: [{ status: 200, description: 'What was found.', schema: findingList }],
    errors: [...API_ERRORS],
  },
  syncNow: {
    method: 'POST',
    path: '/v1/sync',
    right: 'operate',
    summary: 'Polls now and returns when the connector has caught up.',
    description:
      'Use it after an outage, or when a person is waiting: polls run every 30 to 60 s by themselves. 504 means that polling continues. If some accounts could not be polled, the others are, and `failed` names each with the reason; an error is returned only if no account has caught up.',
    body: { schema: syncRequest, required: false },
    answers: [
      { status: 200, description: 'The state of synchronization after the poll.', schema: syncResult },
    ],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      'not_found',
      'sync_unfinished',
      ...SERVICE_CALL_ERRORS.filter((code) => code !== 'account_required'),
    ],
  },
  listDeadLetters: {
    method: 'GET',
    path: '/v1/dead-letters',
    right: 'read',
    summary: 'Lists changes that consumers failed to process.',
    description:
      'Newest first. A change is set aside after the maximum number of attempts, 12 by default, so that it does not block its connection forever.',
    query: z.strictObject({
      ...pageQuery,
      consumer: identifier.optional().describe('Only those of this consumer.'),
    }),
    answers: [{ status: 200, description: 'A page.', schema: deadLetterList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  replayDeadLetter: {
    method: 'POST',
    path: '/v1/dead-letters/{id}/replay',
    right: 'operate',
    summary: 'Hands the change to its consumer again.',
    description:
      'It has the same key and is dispatched before all waiting changes of its connection. If it fails once more, it is set aside again.',
    answers: [{ status: 202, description: 'Scheduled for dispatch.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
  removeDeadLetter: {
    method: 'DELETE',
    path: '/v1/dead-letters/{id}',
    right: 'operate',
    summary: 'Discards a dead letter.',
    description: 'The consumer does not receive the change again. The change itself stays in the feed.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
