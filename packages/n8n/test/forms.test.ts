import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../test/support/root.ts';
import { CHANGES, OPERATIONS } from '../src/description.ts';
import { MessagingConnector } from '../src/MessagingConnector.node.ts';
import { MessagingConnectorApi } from '../src/MessagingConnectorApi.credentials.ts';
import { MessagingConnectorTrigger } from '../src/MessagingConnectorTrigger.node.ts';
import { buildForms } from './write-forms.ts';

interface Field {
  readonly name: string;
  readonly required?: boolean;
  readonly displayOptions?: { readonly show: { readonly operation: readonly string[] } };
  readonly options?: readonly Choice[];
  readonly routing?: { readonly send?: { readonly type?: string; readonly property?: string } };
}
interface Choice extends Field {
  readonly value?: string;
  readonly values?: readonly Field[];
  readonly routing?: Field['routing'] & {
    readonly request?: { readonly method: string; readonly url: string };
  };
}

const fields = OPERATIONS as readonly Field[];
const [operation, ...others] = fields;

/** What the form of an operation sends, required fields with an exclamation mark. */
function sentBy(id: string): readonly string[] {
  const sent = (field: Choice): readonly string[] => [
    ...[field.routing?.send?.property].flatMap((property) =>
      property === undefined
        ? []
        : [`${field.routing?.send?.type} ${property}${field.required === true ? '!' : ''}`],
    ),
    ...[...(field.options ?? []), ...(field.values ?? [])].flatMap(sent),
  ];
  return others.filter(({ displayOptions }) => displayOptions?.show.operation.includes(id)).flatMap(sent);
}

describe('the forms of the nodes', () => {
  it('are made from docs/openapi/connector.yaml (npm run docs)', () => {
    expect(readFileSync(join(ROOT, 'packages/n8n/src/forms.json'), 'utf8')).toBe(buildForms());
  });

  it('call these methods and paths', () => {
    const calls = operation?.options?.map(({ value, routing }) => [
      value,
      Object.values(routing?.request ?? {}),
    ]);
    expect(calls).toEqual([
      ['queueMessage', ['POST', '/v1/messages']],
      ['getOutbound', ['GET', '=/v1/outbound/{{encodeURIComponent($parameter["id"])}}']],
      ['listMessages', ['GET', '/v1/messages']],
      ['getMessage', ['GET', '=/v1/messages/{{encodeURIComponent($parameter["id"])}}']],
      ['sendReadReceipt', ['POST', '/v1/read-receipts']],
      ['listConnections', ['GET', '/v1/connections']],
    ]);
  });

  it('send these fields', () => {
    expect(sentBy('queueMessage')).toEqual([
      ...['body connectionId!', 'body to!', 'body text'],
      ...['body media.filename!', 'body media.mimetype!', 'body media.data!', 'body media.caption'],
      'body reference!',
    ]);
    expect(sentBy('sendReadReceipt')).toEqual(['body connectionId!', 'body phone', 'body messageId']);
    expect(sentBy('listMessages')).toEqual(
      ['accountId', 'connectionId', 'peer', 'person', 'direction', 'text', 'limit'].map(
        (name) => `query ${name}`,
      ),
    );
  });

  it('let the trigger filter by what a consumer filters by, and set how it is called', () => {
    const names = (name: string) =>
      (CHANGES as readonly Field[])
        .find((field) => field.name === name)
        ?.options?.map((option) => option.name);
    expect(names('filter')).toEqual(['types', 'directions', 'connectionIds']);
    expect(names('options')).toEqual([
      ...['ordered', 'batch', 'concurrency', 'attempts', 'deadlineMs', 'historic'],
    ]);
  });
});

describe('the package', () => {
  it('names a file for each of its classes, and each class has the name of its file', () => {
    const { n8n } = JSON.parse(readFileSync(join(ROOT, 'packages/n8n/package.json'), 'utf8'));
    const classes = [MessagingConnectorApi, MessagingConnector, MessagingConnectorTrigger];
    expect([...n8n.credentials, ...n8n.nodes]).toEqual([
      `dist/${MessagingConnectorApi.name}.credentials.js`,
      ...classes.slice(1).map(({ name }) => `dist/${name}.node.js`),
    ]);
  });

  it('only the action is declarative: n8n would never call the webhook of a trigger that is', () => {
    expect(new MessagingConnector().description.requestDefaults).toBeDefined();
    expect(new MessagingConnectorTrigger().description.requestDefaults).toBeUndefined();
  });
});
