import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  INodeProperties,
} from 'n8n-workflow';

/** The address of a connector, and a token of it. */
export class MessagingConnectorApi implements ICredentialType {
  name = 'messagingConnectorApi';
  displayName = 'Messaging Connector API';
  icon = 'file:messaging-connector.svg' as const;
  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'url',
      type: 'string',
      default: '',
      placeholder: 'https://connector.example.com',
      required: true,
      description: "Address of the connector's API, without /v1",
    },
    {
      displayName: 'Token',
      name: 'token',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description:
        'From CONNECTOR_API_TOKENS. The trigger needs the right operate, sends and read receipts need write, lists need read.',
    },
  ];
  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.token}}' } },
  };
  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.url}}', url: '/v1/connections', qs: { limit: 1 } },
  };
}
