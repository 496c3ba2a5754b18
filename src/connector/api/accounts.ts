import type { ConnectorAccount } from '../../contract/connector/accounts.ts';
import { isErrorCode } from '../../contract/service/errors.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { isNamedHost } from '../../runtime/public-network/is-named-host.ts';
import { keepsSecrets } from '../../runtime/public-network/keeps-secrets.ts';
import {
  type Account,
  listAccounts as listStored,
  readAccount,
  readEndingLicenses,
} from '../accounts/account-store.ts';
import { AccountExists } from '../accounts/add-account.ts';
import { LeaseLost, UnknownCredential } from '../accounts/registrations.ts';
import { FIRST_SUBSCRIPTION_ID } from '../accounts/subscription-secrets.ts';
import { isLostAnswer, ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import { ApiError, invalid, notFound, RETRY_AFTER_MS } from './api-error.ts';
import { ACCOUNT_KEY, cutPage, decodeCursor } from './cursors.ts';
import type { ApiParts, Operations } from './operations.ts';
import { chooseAccount, describeServiceFailure } from './service-failure.ts';

/** The operations of accounts. */
export function operateAccounts(options: ApiParts) {
  const { database, clock, accounts, isConfigured, serviceHosts } = options;
  const consents = options.oauth?.consents ?? null;
  return {
    /** `GET /v1/accounts`, oldest first. Credentials are never returned. */
    async listAccounts({ query }) {
      const after = decodeCursor(ACCOUNT_KEY, query.cursor);
      const rows = await listStored(database, {
        after,
        reference: query.reference ?? null,
        limit: query.limit + 1,
      });
      const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.createdAt, row.id]);
      const ids = page.map(({ id }) => id);
      const ending = await readEndingLicenses(database, ids, clock.now());
      return { accounts: page.map((row) => present(row, ending)), nextCursor, hasMore };
    },
    /**
     * `POST /v1/accounts`: the account is stored once the service has accepted the key. The response says nothing
     * about what else may listen at the address, so that the token cannot be used to probe a network.
     */
    async addAccount({ body }) {
      if (!keepsSecrets(body.baseUrl)) {
        throw invalid(
          'baseUrl',
          'plain http would expose the key in transit; use https. Only an address of this machine may use http',
        );
      }
      if (serviceHosts !== null && !isNamedHost(body.baseUrl, serviceHosts)) {
        throw invalid(
          'baseUrl',
          'the host must be that of SERVICE_BASE_URL, or one listed in CONNECTOR_SERVICE_HOSTS',
        );
      }
      const added = { ...body, publicOnly: serviceHosts === null };
      const id = await accounts.add(added).catch((error: unknown) => {
        if (error instanceof AccountExists)
          throw new ApiError('account_exists', `The key already belongs to account ${error.accountId}.`);
        const isService = error instanceof ServiceRefusal && isErrorCode(error.code);
        if (error instanceof ServiceError && !isService)
          throw new ApiError('service_unreachable', 'There is no service at this address.');
        throw describeServiceFailure(error);
      });
      const row = await readAccount(database, id);
      if (row === null) throw notFound('account');
      return present(row, await readEndingLicenses(database, [id], clock.now()));
    },
    /** `POST /v1/accounts/oauth`: returns an address of the connector for the customer's browser. */
    async startGrant({ body = {} }) {
      if (consents === null) {
        throw new ApiError(
          'oauth_not_configured',
          'Set SERVICE_AUTH_URL, SERVICE_CLIENT_ID, SERVICE_CLIENT_SECRET and CONNECTOR_PUBLIC_URL to use OAuth.',
        );
      }
      const { accountId = null, returnUrl } = body;
      if (returnUrl !== undefined && !consents.mayReturnTo(returnUrl)) {
        throw invalid(
          'returnUrl',
          'must be https, at a host listed in CONNECTOR_RETURN_HOSTS or at the host of CONNECTOR_PUBLIC_URL',
        );
      }
      const account = accountId === null ? null : await readAccount(database, accountId);
      if (accountId !== null && account?.kind !== 'oauth') throw notFound('OAuth account');
      const { authorizationUrl, expiresAt } = await consents
        .begin({ ...body, label: body.label ?? account?.label ?? undefined })
        .catch((error: unknown) => {
          throw describeServiceFailure(error);
        });
      return { authorizationUrl, expiresAt: toIso(expiresAt), accountId };
    },
    /** `DELETE /v1/accounts/{id}`. Its messages are kept. */
    async removeAccount({ id }) {
      if (isConfigured(id)) {
        throw new ApiError(
          'account_configured',
          'This account is configured in the environment; remove it there.',
        );
      }
      if (!(await accounts.remove(id))) throw notFound('account');
      return { ok: true };
    },
    /**
     * `POST /v1/webhook/rotate`: responds once the new secret is in place. Rejected for a grant, because its
     * webhook belongs to the app.
     */
    async rotateSecret({ body }) {
      const { id, kind } = await chooseAccount(database, body?.accountId);
      if (kind === 'oauth') {
        throw new ApiError(
          'webhook_of_app',
          'Rotate it where the OAuth app is registered, then set SERVICE_CLIENT_WEBHOOK_SECRET and restart the processes one by one.',
        );
      }
      const replaced = await accounts.rotate(id, body?.compromised === true).catch((error: unknown) => {
        throw describeRotationFailure(error);
      });
      if (replaced === null) {
        throw new ApiError(
          'rotation_in_progress',
          'The secret is already being registered or rotated.',
          RETRY_AFTER_MS.service,
        );
      }
      const { at, previousAcceptedUntil } = replaced;
      return { rotatedAt: toIso(at), previousAcceptedUntil: toIsoOrNull(previousAcceptedUntil) };
    },
  } satisfies Operations;
}

function describeRotationFailure(error: unknown): unknown {
  if (error instanceof UnknownCredential) return invalid('accountId', error.message);
  if (error instanceof LeaseLost) {
    return new ApiError(
      'unavailable',
      'Another process has taken over and is rotating the secret.',
      RETRY_AFTER_MS.service,
    );
  }
  if (isLostAnswer(error)) {
    return new ApiError(
      'service_unreachable',
      `The service does not respond (${error.code}), so it is not known which secret is valid. The connector replaces it again until \`secretInDoubt\` is false in GET /v1/accounts.`,
    );
  }
  return describeServiceFailure(error);
}

type Ending = Awaited<ReturnType<typeof readEndingLicenses>>;

function present(row: Account, ending: Ending): ConnectorAccount {
  const path = '/webhooks/messaging';
  return {
    id: row.id,
    kind: row.kind,
    label: row.label,
    reference: row.reference,
    baseUrl: row.baseUrl,
    state: judgeState(row),
    reauth: presentReauth(row),
    subscriptionId: row.subscriptionId,
    webhookPath: row.subscriptionId === FIRST_SUBSCRIPTION_ID ? path : `${path}/${row.subscriptionId}`,
    webhookUrl: row.registeredUrl,
    webhookRegisteredAt: row.registeredUrl === null ? null : toIsoOrNull(row.registeredAt),
    secretInDoubt: row.inDoubt,
    quota: presentQuota(row),
    endingLicenses: ending
      .filter(({ accountId }) => accountId === row.id)
      .map(({ connectionId, licenseExpires }) => ({ connectionId, licenseExpires: toIso(licenseExpires) })),
    createdAt: toIso(row.createdAt),
  };
}

function presentQuota({ quota }: Account): ConnectorAccount['quota'] {
  if (quota === null) return null;
  return {
    readAt: toIso(quota.readAt),
    slots: {
      total: quota.slotsTotal,
      used: quota.slotsUsed,
      available: quota.slotsAvailable,
      nextExpiry: toIsoOrNull(quota.nextExpiry),
    },
    connections: {
      total: quota.connectionsTotal,
      connected: quota.connectionsConnected,
      needsReconnect: quota.connectionsNeedReconnect,
    },
  };
}

function judgeState(row: Account): ConnectorAccount['state'] {
  if (!row.hasCredential) return 'webhook_only';
  if (row.endedAt !== null) return 'reauth_required';
  return row.isRefused ? 'credential_refused' : 'active';
}

function presentReauth({ endedAt, endedReason }: Account): ConnectorAccount['reauth'] {
  if (endedAt === null) return null;
  return { since: toIso(endedAt), reason: endedReason ?? 'forgotten', startAt: '/v1/accounts/oauth' };
}
