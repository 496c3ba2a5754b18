import { type Loop, startLoop } from '../../src/commands/loop.ts';
import { portsFrom } from '../../src/commands/ports.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { serveParent } from '../process/serve-parent.ts';

/** Messages that are written at once: the next ones follow when these are delivered and stored. */
const AT_ONCE = 100;
const CONTACT = '447700900201';

let loop: Loop | undefined;

/** The loop of `npm start`, with the page. */
async function start({ databaseUrl }: { readonly databaseUrl: string }): Promise<{ readonly url: string }> {
  loop = await startLoop({
    connectorDatabaseUrl: databaseUrl,
    platformDatabaseUrl: databaseUrl,
    ports: portsFrom(0),
    secrets: { connectorToken: 'token-of-the-bench', sealingKey: generateSealingKey() },
    sendScale: 0,
    reconcileIntervalMs: 60_000,
    inboxRetentionDays: 30,
    onTakenOver: () => process.exit(1),
    clock: systemClock,
    logger: createLogger({ level: 'error', name: 'bench', destination: 'stderr' }),
  });
  return { url: loop.info().sandboxUrl };
}

/** A contact writes so many messages. Resolves when all of them are delivered and stored. */
async function write({
  messages,
}: {
  readonly messages: number;
}): Promise<{ readonly written: number; readonly refusals: readonly string[] }> {
  if (loop === undefined) throw new Error('start comes first');
  const { sandboxUrl, baseUrl, apiKey } = loop.info();
  const listed = await fetch(`${baseUrl}/connections`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { connections } = (await listed.json()) as { connections: { id: string; provider: string }[] };
  const connectionId = connections.find(({ provider }) => provider === 'qr')?.id;
  let written = 0;
  const refusals = new Set<string>();
  for (let left = messages; left > 0; left -= AT_ONCE) {
    const times = Math.min(left, AT_ONCE);
    const answer = await fetch(`${sandboxUrl}/sandbox/v1/contacts/${CONTACT}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ connectionId, text: `Message ${messages - left + 1}`, times }),
    });
    if (answer.ok) written += times;
    else refusals.add(`${answer.status} ${await answer.text()}`);
    await loop.settle();
  }
  return { written, refusals: [...refusals].slice(0, 3) };
}

const commands = { start, write };
export type ConsoleLoop = typeof commands;

serveParent(commands, async () => loop?.close());
