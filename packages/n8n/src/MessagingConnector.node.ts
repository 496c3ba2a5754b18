import type { INodeType, INodeTypeDescription } from 'n8n-workflow';
import { listConnections } from './connector-call.ts';
import { OPERATIONS, SHARED } from './description.ts';

/** Calls the connector. Its operations are those of forms.json. */
export class MessagingConnector implements INodeType {
  description: INodeTypeDescription = {
    ...SHARED,
    displayName: 'Messaging Connector',
    name: 'messagingConnector',
    group: ['output'],
    description: 'Sends and reads messages of WhatsApp-style numbers',
    subtitle: '={{$parameter["operation"]}}',
    defaults: { name: 'Messaging Connector' },
    inputs: ['main'],
    usableAsTool: true,
    requestDefaults: { baseURL: '={{$credentials.url}}' },
    properties: OPERATIONS,
  };

  methods = { loadOptions: { listConnections } };
}
