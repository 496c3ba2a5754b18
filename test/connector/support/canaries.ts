import { generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';

/** What nobody may find again, but where it belongs. */
export const CANARY = {
  firstKey: 'canary-first-api-key',
  secondKey: 'canary-second-api-key',
  wrongKey: 'canary-key-that-is-refused',
  issued: 'canary-issued-secret-',
  configured: 'canary-configured-secret',
  token: 'canary-connector-token',
  wrongToken: 'canary-token-that-is-refused',
  urlPassword: 'canary-password-in-an-address',
  sealingKey: generateSealingKey(),
  oldSealingKey: generateSealingKey(),
  letter: 'canary-text-of-a-letter',
  picture: 'Y2FuYXJ5LXBpY3R1cmUtb2YtYS1wYWlyaW5n',
  pairingCode: 'CNRY-CODE',
  fileAddress: 'canary-address-of-a-file',
  fileBytes: 'canary-bytes-of-a-file',
  sentBytes: 'canary-bytes-of-a-file-that-was-sent',
  requestKey: 'canary-idempotency-key-of-the-crm',
  handlerToken: 'canary-token-in-an-error-of-the-handler',
  handlerPassword: 'canary-password-in-an-error-of-the-handler',
  clientSecret: 'canary-client-secret',
  appWebhookSecret: 'canary-webhook-secret-of-the-app',
  oauthToken: 'canary-oauth-token-',
  oauthCode: 'canary-oauth-code-',
} as const;

/** How a value may look after somebody passed it on. */
function disguises(value: string): string[] {
  const bytes = Buffer.from(value);
  return [value, bytes.toString('hex'), bytes.toString('base64url').slice(0, -2), encodeURIComponent(value)];
}

/** Names of those that stand in a text, in any disguise. */
export function findCanaries(text: string, allowed: readonly (keyof typeof CANARY)[] = []): string[] {
  return Object.entries(CANARY)
    .filter(([name]) => !allowed.includes(name as keyof typeof CANARY))
    .filter(([, value]) => disguises(value).some((form) => text.includes(form)))
    .map(([name]) => name);
}
