import { type RegisterOptions, registerWebhook } from '../../../src/connector/accounts/registrations.ts';
import { REGISTRATION } from '../../../src/connector/accounts/subscription-store.ts';

/** Registers a webhook as a process does that takes the lease for it; `busy` while another one holds it. */
export async function register(options: RegisterOptions): Promise<'registered' | 'unchanged' | 'busy'> {
  const held = await options.presence.hold(`${REGISTRATION}:${options.subscriptionId}`, (lease, signal) =>
    registerWebhook(options, lease, signal),
  );
  return held.held ? held.value : 'busy';
}
