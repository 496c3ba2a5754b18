/**
 * Logs messages as communications of HubSpot contacts, up to 100 in a request.
 * https://developers.hubspot.com/docs/api-reference/legacy/crm/objects/communications/guide
 */
import ky from 'ky';
import type { Change } from 'messaging-connector';
// In your project, copy the pattern from src/patterns.
import { variants } from '../../src/patterns/phone-variants.ts';
import {
  Created,
  isInvalid,
  isRefusal,
  type MessageChange,
  messageOf,
  messagesOf,
  serve,
  setting,
} from './consumer.ts';

/** The type of the association from a communication to a contact. */
const COMMUNICATION_TO_CONTACT = 81;
const MOST = 100;

interface Found {
  readonly id: string;
  readonly properties: Readonly<Record<string, string | null>>;
}
interface Page {
  readonly results: readonly Found[];
  readonly paging?: { readonly next?: { readonly after: string } };
}

const created = new Created(setting('ADAPTER_DATABASE', 'hubspot.sqlite'));
const hubspot = ky.create({
  prefix: `${setting('HUBSPOT_URL', 'https://api.hubapi.com')}/crm/v3/objects/`,
  headers: { authorization: `Bearer ${setting('HUBSPOT_TOKEN')}` },
  // The connector repeats what failed, and waits as long as HubSpot asks for.
  retry: 0,
  timeout: 10_000,
});

const post = async <T>(path: string, json: unknown): Promise<T> =>
  await hubspot.post(path, { json }).json<T>();

/** The body is shown as HTML. */
function bodyOf({ data }: MessageChange): string {
  const text = (data.text ?? '').replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
  const file = data.mediaType === null ? '' : `[${data.mediaType}] `;
  return `${data.direction === 'incoming' ? 'Received' : 'Sent'}: ${file}${text}`;
}

function contactOf(peer: string, personKey: string): Promise<string> {
  const phone = /^\d+$/.test(peer) ? `+${peer}` : peer;
  const contact = {
    async look() {
      const values = variants(peer).flatMap((number) => [number, `+${number}`]);
      const filters = [{ propertyName: 'phone', operator: 'IN', values }];
      const { results } = await post<Page>('contacts/search', { filterGroups: [{ filters }], limit: 1 });
      return results[0]?.id;
    },
    make: async () => (await post<Found>('contacts', { properties: { phone } })).id,
  };
  return created.ensure('contact', personKey, contact, true);
}

/** A communication to create. */
interface Input {
  readonly ours: string;
  readonly person: string;
  readonly properties: {
    readonly hs_timestamp: string;
    readonly hs_communication_channel_type: string;
    readonly hs_communication_logged_from: 'CRM';
    readonly hs_communication_body: string;
  };
  readonly associations: readonly object[];
}

async function inputOf(change: MessageChange): Promise<Input> {
  const { id, peer, personKey, createdAt } = change.data;
  const person = personKey ?? peer ?? '';
  const contact = await contactOf(peer ?? '', person);
  return {
    ours: id,
    person,
    properties: {
      hs_timestamp: createdAt,
      hs_communication_channel_type: setting('HUBSPOT_CHANNEL', 'WHATS_APP'),
      hs_communication_logged_from: 'CRM',
      hs_communication_body: bodyOf(change),
    },
    associations: [
      {
        to: { id: contact },
        types: [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId: COMMUNICATION_TO_CONTACT }],
      },
    ],
  };
}

/** Recognizes a communication by what it says and when. HubSpot returns its own form of the time. */
const printOf = (properties: Found['properties']): string =>
  `${Date.parse(properties['hs_timestamp'] ?? '')} ${properties['hs_communication_body']}`;

/** Notes the ids of those that HubSpot has. Each is used once. */
function note(inputs: readonly Input[], found: readonly Found[]): void {
  const left = [...found];
  for (const { ours, properties } of inputs) {
    const at = left.findIndex((one) => printOf(one.properties) === printOf({ ...properties }));
    const [match] = at === -1 ? [] : left.splice(at, 1);
    if (match !== undefined) created.end('communication', ours, { id: match.id });
  }
}

/** What HubSpot has of these times, for requests whose answer was lost. */
async function look(inputs: readonly Input[]): Promise<void> {
  const times = inputs.map(({ properties }) => Date.parse(properties.hs_timestamp));
  const [value, highValue] = [String(Math.min(...times)), String(Math.max(...times))];
  const asked = new Set<string>();
  let after: string | undefined;
  do {
    const page: Page = await post('communications/search', {
      filterGroups: [{ filters: [{ propertyName: 'hs_timestamp', operator: 'BETWEEN', value, highValue }] }],
      properties: ['hs_timestamp', 'hs_communication_body'],
      limit: MOST,
      ...(after === undefined ? {} : { after }),
    });
    note(
      inputs.filter(({ ours }) => created.find('communication', ours) === null),
      page.results,
    );
    after = page.paging?.next?.after;
    if (after !== undefined && asked.has(after)) throw new Error(`HubSpot repeats the page after ${after}`);
    if (after !== undefined) asked.add(after);
  } while (after !== undefined);
}

/** Creates them. One that HubSpot refuses is found by halving the request, and does not hold back the others. */
async function create(inputs: readonly Input[]): Promise<void> {
  if (inputs.length === 0) return;
  for (const { ours } of inputs) created.begin('communication', ours);
  try {
    const body = { inputs: inputs.map(({ properties, associations }) => ({ properties, associations })) };
    const { results } = await post<Page>('communications/batch/create', body);
    note(inputs, results);
    // They exist, although HubSpot has changed what they say.
    for (const { ours } of inputs)
      if (created.find('communication', ours) === null) created.end('communication', ours, { id: 'unknown' });
  } catch (error) {
    if (isRefusal(error)) for (const { ours } of inputs) created.forget('communication', ours);
    if (!isInvalid(error)) throw error;
    if (/associations are not valid/i.test(messageOf(error))) {
      // Somebody has deleted one of the contacts.
      for (const { person } of inputs) created.doubt('contact', person);
      throw error;
    }
    const [only] = inputs;
    if (inputs.length === 1 && only !== undefined) return created.refuse('communication', only.ours, error);
    const half = Math.ceil(inputs.length / 2);
    await create(inputs.slice(0, half));
    await create(inputs.slice(half));
  }
}

serve(async (changes: readonly Change[]) => {
  const open = messagesOf(changes).filter(({ messageId: id }) => !created.find('communication', id));
  const inputs: Input[] = [];
  for (const change of open) {
    const input = await inputOf(change).catch((error: unknown) => {
      // Its contact.
      if (!isInvalid(error)) throw error;
      created.refuse('communication', change.messageId, error);
    });
    if (input !== undefined) inputs.push(input);
  }
  const lost = inputs.filter(({ ours }) => created.find('communication', ours) === null);
  if (lost.length > 0) await look(lost);
  const left = inputs.filter(({ ours }) => !created.find('communication', ours));
  for (let from = 0; from < left.length; from += MOST) await create(left.slice(from, from + MOST));
});
