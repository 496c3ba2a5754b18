import { notModelled, section } from './requirement.ts';

/** Part 9: versioning. */
export const VERSIONING = section('Versioning', {
  'versioning.prefix': 'Version 1 stands in the path: `/api/v1`.',
  'versioning.legacy': 'The legacy address serves the same API with the same credentials and answers.',
  'versioning.auth-host': 'OAuth, discovery and tool server stay on their own host.',
  'versioning.client.unknown-fields': 'A client ignores fields that it does not know.',
  'versioning.client.unknown-events': 'A client ignores event types that it does not know.',
  'versioning.camel-case': 'Connection endpoints use camelCase names.',
  'versioning.aliases':
    'Deprecated aliases carry the same values: `phone`, `name`, `license_status`, `license_expires`.',
  'versioning.webhooks-snake-case': 'Webhook payloads stay snake_case.',
  'versioning.changelog': notModelled(
    'Changes are published in a dated changelog.',
    'It belongs to the service, not to its interface.',
  ),
});
