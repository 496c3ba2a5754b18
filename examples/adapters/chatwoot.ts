/**
 * Writes messages into an inbox of Chatwoot whose channel is the API: a contact for each person, and a conversation for
 * each number that the person writes to. https://developers.chatwoot.com/api-reference/messages/create-new-message
 */
import ky from 'ky';
import type { Change } from 'messaging-connector';
// In your project, copy the pattern from src/patterns.
import { variants } from '../../src/patterns/phone-variants.ts';
import { Created, isMissing, type MessageChange, serve, setting, writeEach } from './consumer.ts';

interface Contact {
  readonly id: number;
  readonly phone_number: string | null;
  readonly identifier: string | null;
}
interface Conversation {
  readonly id: number;
  readonly inbox_id: number;
  readonly custom_attributes?: Readonly<Record<string, unknown>>;
}
interface Message {
  readonly id: number;
  readonly source_id: string | null;
}

const created = new Created(setting('ADAPTER_DATABASE', 'chatwoot.sqlite'));
const inbox = Number(setting('CHATWOOT_INBOX_ID'));
const account = setting('CHATWOOT_ACCOUNT_ID');
const chatwoot = ky.create({
  prefix: `${setting('CHATWOOT_URL', 'https://app.chatwoot.com')}/api/v1/accounts/${account}/`,
  headers: { api_access_token: setting('CHATWOOT_TOKEN') },
  // The connector repeats what failed.
  retry: 0,
  timeout: 10_000,
});

const get = async <T>(path: string, searchParams: Record<string, string> = {}): Promise<T> =>
  (await chatwoot.get(path, { searchParams }).json<{ payload: T }>()).payload;
const post = async <T>(path: string, json: object): Promise<T> =>
  await chatwoot.post(path, { json }).json<T>();

/** A person who has no number, such as a group, is known by its address. */
function contactOf(peer: string, personKey: string): Promise<string> {
  const phone = /^\d+$/.test(peer) ? `+${peer}` : undefined;
  const about = phone === undefined ? { identifier: peer } : { phone_number: phone };
  const contact = {
    async look() {
      for (const spelling of variants(peer)) {
        const q = phone === undefined ? spelling : `+${spelling}`;
        const found = await get<readonly Contact[]>('contacts/search', { q });
        const same = found.find((one) => q === (phone === undefined ? one.identifier : one.phone_number));
        if (same !== undefined) return String(same.id);
      }
      return undefined;
    },
    async make() {
      const { payload } = await post<{ payload: { contact: Contact } }>('contacts', {
        name: phone ?? peer,
        ...about,
      });
      return String(payload.contact.id);
    },
  };
  return created.ensure('contact', personKey, contact, true);
}

function conversationOf(contact: string, connectionId: string, personKey: string): Promise<string> {
  const custom_attributes = { messaging_connection: connectionId };
  const conversation = {
    async look() {
      const all = await get<readonly Conversation[]>(`contacts/${contact}/conversations`);
      const own = all.find(
        (one) => one.inbox_id === inbox && one.custom_attributes?.['messaging_connection'] === connectionId,
      );
      return own?.id.toString();
    },
    async make() {
      const source_id = `${connectionId}/${personKey}`;
      const about = { inbox_id: inbox, contact_id: Number(contact), source_id, custom_attributes };
      return String((await post<Conversation>('conversations', about)).id);
    },
  };
  return created.ensure('conversation', `${connectionId}/${personKey}`, conversation);
}

async function write(change: MessageChange): Promise<void> {
  const { peer, personKey, connectionId, reference } = change.data;
  // An agent has written it in Chatwoot, and your code has sent it with this reference.
  if (peer === null || reference?.startsWith('chatwoot:') === true) return;
  const person = personKey ?? peer;
  try {
    const contact = await contactOf(peer, person);
    await writeInto(await conversationOf(contact, connectionId, person), change);
  } catch (error) {
    if (isMissing(error)) {
      created.doubt('contact', person);
      created.doubt('conversation', `${connectionId}/${person}`);
    }
    throw error;
  }
}

async function writeInto(conversation: string, { data, messageId }: MessageChange): Promise<void> {
  const { direction, text, mediaType } = data;
  const file = mediaType === null ? '' : `[${mediaType}] `;
  const messages = `conversations/${conversation}/messages`;
  await created.ensure('message', messageId, {
    async look() {
      const newest = await get<readonly Message[]>(messages);
      return newest.find(({ source_id }) => source_id === messageId)?.id.toString();
    },
    async make() {
      const content = `${file}${text ?? ''}` || '…';
      const message = { content, message_type: direction, private: false, source_id: messageId };
      return String((await post<Message>(messages, message)).id);
    },
  });
}

serve((changes: readonly Change[]) => writeEach(created, changes, write));
