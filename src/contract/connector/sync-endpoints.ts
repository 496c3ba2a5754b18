import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
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
import { ofAccount, pageQuery } from './lists.ts';
import { syncRequest, syncStatus } from './sync.ts';

/** Accounts, the change feed and the state of synchronisation. */
export const SYNC_ENDPOINTS = {
  listAccounts: {
    method: 'GET',
    path: '/v1/accounts',
    right: 'read',
    summary: 'Lists the accounts.',
    description:
      'The oldest first, with the slots and the licences that end soon. A credential is never shown.',
    query: listAccountsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connectorAccountList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  addAccount: {
    method: 'POST',
    path: '/v1/accounts',
    right: 'operate',
    summary: 'Adds an account by its API key.',
    description:
      'The key is tried at the service first; one that is refused adds nothing. Then the webhook of the account is registered, if `WEBHOOK_PUBLIC_URL` is set, and it is polled.',
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
    summary: 'Starts an OAuth grant: answers where the customer goes.',
    description:
      'Send the browser of the customer to `authorizationUrl`. With `accountId` the customer consents again, and the account keeps its id, messages and connections. Nothing changes before the customer consents, so the right `write` is enough.',
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
    summary: 'Asks the customer whether to go on to the service; guarded by the token of its address.',
    description:
      'Changes nothing, so programs that look at links may ask for it. The page has a cookie and a form, which posts to the same address. The browser that has the consent already is sent on with 303.',
    credential: false,
    answers: [
      {
        status: 200,
        description: 'A page that says to which account numbers will be connected, with a form that goes on.',
        contentType: 'text/html',
        schema: z.string(),
        headers: [
          {
            name: 'Set-Cookie',
            description:
              'The cookie of this consent: `__Host-`, `Secure`, `HttpOnly`, `SameSite=Lax`, until the consent ends. Without `Secure` and prefix where `CONNECTOR_PUBLIC_URL` is plain http on this machine.',
          },
        ],
      },
    ],
    // Refusals are pages, too; their status says as much as a browser needs.
    errors: [],
  },
  goOnWithGrant: {
    method: 'POST',
    path: '/oauth/start/{token}',
    summary: 'Gives the grant to the browser that posts the form, and sends it to the service.',
    description:
      'Needs the cookie of the page. Another browser cannot take the grant over: it gets 403 and a page that says so.',
    credential: false,
    answers: [
      {
        status: 303,
        description: 'On to the authorization server.',
        headers: [{ name: 'Location', description: 'Its address, with `state` and PKCE.', required: true }],
      },
    ],
    errors: [],
  },
  finishGrant: {
    method: 'GET',
    path: '/oauth/callback',
    summary: 'Finishes an OAuth grant; guarded by `state` and the cookie of the consent.',
    description:
      'The authorization server leads the browser here; nothing else calls it. Refusals are pages, too.',
    credential: false,
    query: z.object({
      state: z.string().describe('The value that began the consent. It is good once.'),
      code: z.string().optional().describe('The authorization code, when the customer allowed it.'),
      error: z.string().optional().describe('The code of the refusal otherwise, such as `access_denied`.'),
      iss: z.string().optional().describe('The authorization server that answers; another one is refused.'),
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
    description:
      'Its messages, connections and changes stay; its connections are hidden (`visible` false) until an account lists them again. An account that the environment names is refused.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found', 'account_configured'],
  },
  listChanges: {
    method: 'GET',
    path: '/v1/changes',
    right: 'read',
    summary: 'Lists what changed, in order and without gaps.',
    description:
      'Read with the last `seq` as `after`: nothing is skipped, and nothing comes twice. Keep `feedId`, too: with another one, read from the start.',
    query: listChangesQuery,
    answers: [{ status: 200, description: 'A page.', schema: changeList }],
    errors: [...API_ERRORS, 'invalid_request', 'beyond_feed'],
  },
  streamChanges: {
    method: 'GET',
    path: '/v1/changes/stream',
    right: 'read',
    summary: 'Streams changes as they come; each event has its `seq` as id.',
    description:
      'The same feed as `GET /v1/changes`. `Last-Event-ID` wins over `after`, so an `EventSource` resumes by itself. A process takes 200 streams at a time.',
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
    description:
      'Read `coveredUntil` to know how far back nothing is missing, and `webhookHealth` to know whether webhooks arrive.',
    query: z.strictObject({ accountId: ofAccount }),
    answers: [{ status: 200, description: 'The state.', schema: syncStatus }],
    errors: [...API_ERRORS, 'invalid_request', 'not_found'],
  },
  syncNow: {
    method: 'POST',
    path: '/v1/sync',
    right: 'operate',
    summary: 'Polls now and answers when the poll has closed the gap.',
    description:
      'For a person who waits, or after an outage: polls come every 30 to 60 s by themselves. 504 means that polling goes on.',
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
    description:
      'A change is set aside after the calls that the handler allows, 12 unless told, so that it does not hold its connection for ever. Newest first.',
    query: z.strictObject(pageQuery),
    answers: [{ status: 200, description: 'A page.', schema: deadLetterList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  replayDeadLetter: {
    method: 'POST',
    path: '/v1/dead-letters/{id}/replay',
    right: 'operate',
    summary: 'Hands the change over once more.',
    description:
      'It comes with the same key, before everything that still waits on its connection. One more failure sets it aside again.',
    answers: [{ status: 202, description: 'Will be handed over.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
  removeDeadLetter: {
    method: 'DELETE',
    path: '/v1/dead-letters/{id}',
    right: 'operate',
    summary: 'Gives the change up.',
    description: 'The handler is not called with it again. The change itself stays in the feed.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
    errors: [...API_ERRORS, 'not_found'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
