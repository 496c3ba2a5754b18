/** What both nodes say of themselves to n8n. The forms of calls are generated from the OpenAPI document. */
import type { INodeProperties, INodeTypeDescription } from 'n8n-workflow';
import forms from './forms.json' with { type: 'json' };

export const CREDENTIALS = 'messagingConnectorApi';

type Shared = 'credentials' | 'icon' | 'outputs' | 'version';

export const SHARED: Pick<INodeTypeDescription, Shared> = {
  version: 1,
  icon: 'file:messaging-connector.svg',
  outputs: ['main'],
  credentials: [{ name: CREDENTIALS, required: true }],
};

export const OPERATIONS = forms.operations as INodeProperties[];

export const CHANGES: INodeProperties[] = [
  forms.filter as INodeProperties,
  {
    displayName: 'Accept Changes',
    name: 'responseMode',
    type: 'options',
    noDataExpression: true,
    default: 'lastNode',
    options: [
      {
        name: 'When the Workflow Has Finished',
        value: 'lastNode',
        description:
          'If the workflow fails, or takes longer than 30 seconds, the change comes again. Messages of a connection come one after the other.',
      },
      {
        name: 'When They Arrive',
        value: 'onReceived',
        description: 'For long workflows. What fails after that does not come again.',
      },
    ],
  },
  {
    displayName: 'Continue Where It Stopped',
    name: 'continues',
    type: 'boolean',
    default: true,
    description:
      'Whether the workflow, when it is activated again, receives what has changed while it was inactive',
  },
  forms.options as INodeProperties,
];
