import { accessChecks } from './checks/access.ts';
import { accountChecks } from './checks/account.ts';
import { connectionDetailChecks } from './checks/connection-detail.ts';
import { connectionListChecks } from './checks/connection-list.ts';
import { creationChecks } from './checks/creation.ts';
import { credentialChecks } from './checks/credentials.ts';
import { deliveryChecks } from './checks/deliveries.ts';
import { eventChecks } from './checks/events.ts';
import { isolationChecks } from './checks/isolation.ts';
import { legacyChecks } from './checks/legacy.ts';
import { lifecycleChecks } from './checks/lifecycle.ts';
import { messageListChecks } from './checks/message-list.ts';
import { authorizeChecks } from './checks/oauth-authorize.ts';
import { tokenChecks, tokenReuseChecks } from './checks/oauth-tokens.ts';
import { pairingChecks } from './checks/pairing.ts';
import { receiptChecks } from './checks/receipts.ts';
import { scopeChecks } from './checks/scopes.ts';
import { sendRefusalChecks } from './checks/send-refusals.ts';
import { sendChecks } from './checks/sends.ts';
import { toolChecks } from './checks/tools.ts';
import { webhookConfigurationChecks } from './checks/webhook-configuration.ts';
import { webhookRotationChecks, webhookSecretChecks } from './checks/webhook-secret.ts';
import { wireChecks } from './checks/wire.ts';
import type { ServiceCheck } from './service/service-check.ts';

/**
 * Every check of the service, in the order in which they run: checks that only read come first, checks that
 * delete come late, and checks over the whole run come last.
 */
export const SERVICE_CHECKS: readonly ServiceCheck[] = [
  ...credentialChecks,
  ...scopeChecks,
  ...connectionListChecks,
  ...connectionDetailChecks,
  ...accountChecks,
  ...messageListChecks,
  ...sendRefusalChecks,
  ...webhookConfigurationChecks,
  ...webhookSecretChecks,
  ...authorizeChecks,
  ...tokenChecks,
  ...toolChecks,
  ...creationChecks,
  ...pairingChecks,
  ...isolationChecks,
  ...accessChecks,
  ...lifecycleChecks,
  ...sendChecks,
  ...receiptChecks,
  ...deliveryChecks,
  ...eventChecks,
  ...webhookRotationChecks,
  ...legacyChecks,
  ...tokenReuseChecks,
  ...wireChecks,
];
