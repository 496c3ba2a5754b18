import type { LoopClient } from '../../../test/support/loop-client.ts';
import type { Caller } from '../../../test/support/read-lists.ts';

export const GUEST = '447700900201';
const OTHER = '447700900202';

/** What happened before pictures are taken. */
interface Story {
  readonly connectionId: string;
  /** A message whose webhook was lost. */
  readonly lost: string;
}

/** Two contacts write and are answered, and the webhook of one message is lost and repaired by polling. */
export async function tellStory(
  client: LoopClient,
  sandbox: Caller,
  queue: (body: object) => Promise<unknown>,
  /** Lets time pass between what happens, where it does not pass by itself. */
  pass: () => Promise<unknown> = async () => undefined,
): Promise<Story> {
  const connectionId = await client.qrConnection();
  // The connector must know the connection before it sends.
  await client.sync();
  const say = async (from: string, text: string): Promise<void> => {
    await sandbox('POST', `/contacts/${from}/messages`, { connectionId, text });
    await pass();
  };
  let references = 0;
  const answer = async (to: string, text: string): Promise<void> => {
    await queue({ reference: `${Date.now()}-${references++}`, connectionId, to, text });
    await pass();
  };
  await say(GUEST, 'Hello, is the table for four still free tonight?');
  await answer(GUEST, 'Yes, it is. Shall I put it down for eight?');
  await say(OTHER, 'Where do I park?');
  await answer(OTHER, 'Behind the house.');
  await sandbox('POST', '/clock/advance', { ms: 20_000 });
  await client.dropWebhooks();
  const lost = await client.write(connectionId, 'Half past seven would be better.');
  await sandbox('POST', '/clock/advance', { ms: 5_000 });
  await pass();
  await client.clearFaults();
  await client.sync();
  await client.arrival(lost);
  return { connectionId, lost };
}

/** The screens, and what opens from them, with a text that each shows when it has been read. */
export const shownInSandbox = ({
  connectionId,
  lost,
}: Story): readonly (readonly [path: string, text: string])[] => [
  ['/overview', 'SERVICE_API_KEY='],
  ['/connections', 'Front desk'],
  [`/connections/${connectionId}`, 'What the states mean'],
  ['/phone', 'Front desk'],
  [`/phone/${GUEST}?list=contacts&with=${connectionId}`, 'Shall I put it down'],
  ['/inbox', 'Behind the house.'],
  [`/inbox/${connectionId}~${GUEST}`, 'Shall I put it down'],
  ['/deliveries', 'message.received'],
  // How many polls the start makes depends on how busy the machine is.
  ['/calls?q=method:POST path:/messages', '/messages'],
  ['/sync', 'Nothing missing until'],
  ['/access', 'slots used'],
  ['/journey', 'Half past seven'],
  [`/journey/${lost}`, 'Polling repaired it.'],
];

export const shownInProduction = ({
  connectionId,
  lost,
}: Story): readonly (readonly [path: string, text: string])[] => [
  ['/overview', 'Account default'],
  ['/inbox', 'Behind the house.'],
  [`/inbox/${connectionId}~${GUEST}`, 'Shall I put it down'],
  ['/deliveries', 'message.received'],
  ['/sync', 'Account default'],
  ['/journey', 'Half past seven'],
  [`/journey/${lost}`, 'Polling found it'],
];
