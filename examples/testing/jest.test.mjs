import { deliver, failsThenTakes, startTestLoop } from 'messaging-connector/testing';

const CONTACT = '447700900201';

/** Stands for your CRM: its messages by id, and the handler that stores them. */
const inbox = new Map();
function onChange(change) {
  if (change.type === 'message.created') inbox.set(change.messageId, change.data.text);
}

let loop;
let prepared;
let connectionId;

beforeAll(async () => {
  loop = await startTestLoop({ handlers: { onChange } });
  const { entries } = await loop.sandbox.listConnections({ query: { phoneNumber: '447700900101' } });
  connectionId = entries[0]?.id ?? '';
  prepared = await loop.snapshot();
}, 60_000);
afterAll(() => loop.close());
beforeEach(async () => {
  await loop.restore(prepared);
  inbox.clear();
});

async function write(text) {
  const body = { connectionId, text };
  const { messageId } = await loop.sandbox.contactWrites({ params: { phone: CONTACT }, body });
  return messageId;
}

test('a message of a contact reaches the inbox', async () => {
  const messageId = await write('Hello');
  await loop.settle();
  expect(inbox.get(messageId)).toBe('Hello');
});

test('a message is found by polling if its webhook is lost', async () => {
  const match = { surface: 'webhook' };
  await loop.sandbox.putFaults({
    body: { rules: [{ id: 'lost', match, action: { type: 'drop' }, per: 'event' }] },
  });
  const messageId = await write('Anybody there?');
  await loop.connector.syncNow({ body: {} });
  await loop.waitFor(() => inbox.has(messageId));
});

test('an answer is read two seconds later', async () => {
  const body = { connectionId, to: CONTACT, text: 'Good morning', reference: 'order-17' };
  await loop.connector.queueMessage({ body });
  const [sent] = await loop.waitFor({ list: 'messages', q: 'direction:outgoing' });
  await loop.advance('2s');
  await loop.waitFor({ list: 'messages', q: `message:${sent?.id} status:read` });
});

test('a change is repeated until the handler accepts it', async () => {
  await write('Hello');
  await loop.settle();
  const { changes } = await loop.connector.listChanges();
  const { taken, calls } = await deliver(failsThenTakes(2, onChange), changes.slice(-1));
  expect(taken).toHaveLength(1);
  expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
});
