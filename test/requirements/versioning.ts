import { notModeled, section } from './requirement.ts';

/** Part 9: versioning. */
export const VERSIONING = section('Versioning', {
  'versioning.prefix': 'The path contains the version: `/api/v1`.',
  'versioning.legacy':
    'The legacy address serves the same API with the same credentials, paths and responses.',
  'versioning.auth-host': 'OAuth, discovery and the tool server stay on their own host.',
  'versioning.client.unknown-fields': 'A client ignores unknown fields.',
  'versioning.client.unknown-events': 'A client ignores unknown event types.',
  'versioning.camel-case': 'Connection endpoints use camelCase names.',
  'versioning.aliases':
    'Deprecated aliases keep the same values: `phone`, `name`, `license_status`, `license_expires`.',
  'versioning.webhooks-snake-case': 'Webhook payloads remain snake_case.',
  'versioning.changelog': notModeled(
    'Changes are published in a dated changelog.',
    'The changelog belongs to the service, not to its interface.',
  ),
});
