import {
  type RegisterOptions,
  type Registration,
  registerWebhook,
} from '../../../src/connector/accounts/register-webhook.ts';
import { REGISTRATION } from '../../../src/connector/accounts/subscription-store.ts';

/** Registers a webhook as a process does that takes the lease for it; `busy` while another one holds it. */
export async function register(options: RegisterOptions): Promise<Registration | 'busy'> {
  const held = await options.keeper.presence.hold(
    `${REGISTRATION}:${options.subscriptionId}`,
    (lease, signal) => registerWebhook(options, lease, signal),
  );
  return held.held ? held.value : 'busy';
}
