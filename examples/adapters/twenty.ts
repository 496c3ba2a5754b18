/**
 * Writes messages as notes of people in Twenty. https://docs.twenty.com/developers/extend/api describes its REST API, which
 * takes the id of a new record from its creator.
 */
import { createHash } from 'node:crypto';
import ky from 'ky';
import type { Change } from 'messaging-connector';
// In your project, copy the pattern from src/patterns.
import { variants } from '../../src/patterns/phone-variants.ts';
import { Created, isInvalid, type MessageChange, serve, setting, writeEach } from './consumer.ts';

interface Made {
  readonly id: string;
}
interface Person extends Made {
  readonly phones?: { readonly primaryPhoneNumber: string; readonly primaryPhoneCallingCode: string } | null;
}

const created = new Created(setting('ADAPTER_DATABASE', 'twenty.sqlite'));
const twenty = ky.create({
  prefix: `${setting('TWENTY_URL', 'https://api.twenty.com')}/rest/`,
  headers: { authorization: `Bearer ${setting('TWENTY_TOKEN')}` },
  // The connector repeats what failed. Twenty takes 100 requests in a minute.
  retry: 0,
  timeout: 10_000,
});

/** The id of a record that is made for this, a UUID that is always the same. */
function idFor(what: string): string {
  const hex = createHash('sha256').update(what).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

async function find<T extends Made>(plural: string, filter: string): Promise<readonly T[]> {
  const answer = await twenty
    .get(plural, { searchParams: { filter } })
    .json<{ data: { [plural: string]: T[] } }>();
  return answer.data[plural] ?? [];
}

/** Makes a record once, by its id. */
function ensure(kind: string, plural: string, ours: string, body: object): Promise<string> {
  const id = idFor(`${kind} ${ours}`);
  const look = async (): Promise<string | undefined> => (await find(plural, `id[eq]:"${id}"`))[0]?.id;
  return created.ensure(kind, ours, {
    look,
    async make() {
      try {
        await twenty.post(plural, { json: { id, ...body } });
      } catch (error) {
        // It exists, and the table does not know it.
        if (!isInvalid(error) || (await look()) === undefined) throw error;
      }
      return id;
    },
  });
}

/** Twenty stores the number without its calling code, which has one to three digits. */
async function personOf(peer: string, personKey: string): Promise<string> {
  const isNumber = /^\d+$/.test(peer);
  const known = created.find('person', personKey);
  if (isNumber && known === undefined) {
    const spellings = variants(peer);
    const numbers = spellings.flatMap((spelling) =>
      [0, 1, 2, 3].map((digits) => `phones.primaryPhoneNumber[eq]:"${spelling.slice(digits)}"`),
    );
    const found = await find<Person>('people', `or(${numbers.join(',')})`);
    const isSame = ({ phones }: Person): boolean =>
      spellings.includes(`${phones?.primaryPhoneCallingCode}${phones?.primaryPhoneNumber}`.replace('+', ''));
    const id = found.find(isSame)?.id;
    if (id !== undefined) created.end('person', personKey, { id });
  }
  return await ensure('person', 'people', personKey, {
    name: { firstName: isNumber ? `+${peer}` : peer, lastName: '' },
    ...(isNumber ? { phones: { primaryPhoneNumber: `+${peer}` } } : {}),
  });
}

async function write({ data, messageId }: MessageChange): Promise<void> {
  const { peer, personKey, direction, text, mediaType, createdAt } = data;
  if (peer === null) return;
  const person = await personOf(peer, personKey ?? peer);
  const note = await ensure('note', 'notes', messageId, {
    title: `${direction === 'incoming' ? 'Received' : 'Sent'} ${createdAt}`,
    // As it was written: a backslash keeps what would be a sign of Markdown.
    bodyV2: {
      markdown: `${mediaType === null ? '' : `[${mediaType}] `}${(text ?? '').replace(/[\\`*_{}[\]<>()#+.!|~-]/g, '\\$&')}`,
    },
  });
  // The note appears when it is linked, so this is the last one.
  await ensure('message', 'noteTargets', messageId, { noteId: note, targetPersonId: person });
}

serve((changes: readonly Change[]) => writeEach(created, changes, write));
