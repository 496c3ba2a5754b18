import type { TestContext } from 'vitest';
import { runConnector } from '../../src/commands/run-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { ScriptedService } from '../connector/support/scripted-service.ts';
import { type ConnectorProcess, prepareConnector } from './connector-process.ts';
import { createTestDatabase } from './database.ts';
import { findFreePort } from './find-free-port.ts';
import { type LoadEvent, writeBody } from './load-plan.ts';
import { createLoadSender, type LoadSender, signDelivery } from './load-sender.ts';
import { silentLogger } from './platform.ts';
import { createCaller, readAllMessages } from './read-lists.ts';

const TOKEN = 'token-of-a-rotation-for-tests';
const API_KEY = 'key-1';
const WEBHOOK_URL = 'https://crm.example/webhooks/messaging';
const HOUR_MS = 3_600_000;
const CONNECTION = 'c1';

/** A delivery that was signed with the previous secret, and its response. */
export interface Forgery {
  readonly messageId: string;
  readonly signedAt: number;
  readonly status: number;
}

/** A service that issues secrets, connectors on one database, a sender and a forger. */
export interface RotationWorld {
  readonly service: ScriptedService;
  readonly sender: LoadSender;
  readonly urls: readonly string[];
  /** Starts another connector in its own process. */
  spawn(): Promise<ConnectorProcess>;
  /** Sends this many new messages, ten every 50 ms, which the service also lists. */
  send(count: number): Promise<void>;
  /** Keeps signing with the current secret, even after a rotation; `stop` signs twenty more. */
  forge(): { stop(): Promise<Forgery[]> };
  rotate(url: string, compromised?: boolean): Promise<{ rotatedAt: string }>;
  /** Polls, and compares: ids that only the service lists, and ids that only the connector lists. */
  compare(url: string): Promise<{ missing: string[]; invented: string[] }>;
}

/** Starts `connectors` of them in this process. Everything stops in `onTestFinished`. */
export async function startRotationWorld(
  connectors: number,
  onTestFinished: TestContext['onTestFinished'],
): Promise<RotationWorld> {
  const service = await ScriptedService.start();
  onTestFinished(() => service.close());
  service.addConnection(CONNECTION);
  // The `Date` of each answer.
  service.onRequest = () => {
    service.date = systemClock.now();
  };
  const database = await createTestDatabase({ connector: true });
  onTestFinished(() => database.drop());
  const sealingKey = generateSealingKey();
  const urls: string[] = [];
  for (let started = 0; started < connectors; started += 1) {
    const running = await runConnector({
      databaseUrl: database.url,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken: TOKEN,
      sealingKeys: [sealingKey],
      service: { baseUrl: service.baseUrl, apiKey: API_KEY },
      webhookPublicUrl: WEBHOOK_URL,
      reconcileIntervalMs: HOUR_MS,
      inboxRetentionDays: 30,
      clock: systemClock,
      logger: silentLogger,
    });
    onTestFinished(() => running.close());
    urls.push(running.url);
  }
  let number = 0;
  const sender = createLoadSender({
    secret: () => service.webhook?.secret ?? '',
    clock: systemClock,
    targets: (event, attempt) => {
      const index = (event.body.length + Number(event.messageId.slice(1)) + attempt) % urls.length;
      return [`${urls[index] ?? ''}/webhooks/messaging`];
    },
  });
  onTestFinished(() => sender.close());

  /** A message that arrived just now. */
  function receive(): LoadEvent {
    number += 1;
    const messageId = `m${number}`;
    const text = `Text ${number}`;
    service.addMessage(CONNECTION, systemClock.now(), { id: messageId, text });
    return makeEvent(messageId, text);
  }

  return {
    service,
    sender,
    urls,
    async spawn() {
      const child = prepareConnector({
        databaseUrl: database.url,
        port: await findFreePort(),
        apiToken: TOKEN,
        sealingKey,
        env: {
          SERVICE_BASE_URL: service.baseUrl,
          SERVICE_API_KEY: API_KEY,
          WEBHOOK_PUBLIC_URL: WEBHOOK_URL,
          RECONCILE_INTERVAL_MS: String(HOUR_MS),
        },
      });
      onTestFinished(async () => void (await child.kill('SIGKILL')));
      child.go();
      await child.ready;
      return child;
    },
    async send(count) {
      const open: Promise<unknown>[] = [];
      for (let sent = 0; sent < count; sent += 1) {
        open.push(sender.deliver(receive()));
        if (sent % 10 === 9) await systemClock.sleep(50);
      }
      await Promise.all(open);
    },
    forge: () => forge(urls, service.webhook?.secret ?? ''),
    rotate: (url, compromised = false) =>
      createCaller(url, TOKEN)('POST', '/v1/webhook/rotate', { compromised }),
    async compare(url) {
      const call = createCaller(url, TOKEN);
      await call('POST', '/v1/sync', {});
      const stored = new Set((await readAllMessages(call, '/v1/messages?limit=1000')).map(({ id }) => id));
      const listed = new Set(service.messages.map(({ id }) => id));
      return {
        missing: [...listed].filter((id) => !stored.has(id)),
        invented: [...stored].filter((id) => !listed.has(id)).sort(),
      };
    },
  };
}

function makeEvent(messageId: string, text: string): LoadEvent {
  const content = { event: 'message.received', connectionId: CONNECTION, messageId, text } as const;
  const whole = { ...content, from: '447700900001', status: null };
  return { ...whole, copies: 1, body: writeBody(whole, systemClock.now()) };
}

const FORGED_EVERY_MS = 25;
const FORGED_AT_THE_END = 20;

/** Each forgery contains a new message, so that an accepted one is visible. */
function forge(urls: readonly string[], secret: string): { stop(): Promise<Forgery[]> } {
  const open: Promise<Forgery>[] = [];
  let stopped = false;
  const one = async (messageId: string, url: string): Promise<Forgery> => {
    const { body } = makeEvent(messageId, 'forged');
    const signedAt = systemClock.now();
    const headers = signDelivery(body, secret, signedAt);
    const answer = await fetch(`${url}/webhooks/messaging`, { method: 'POST', body, headers });
    await answer.arrayBuffer();
    return { messageId, signedAt, status: answer.status };
  };
  const next = (): void => {
    const number = open.length;
    open.push(one(`forged${number}`, urls[number % urls.length] ?? ''));
  };
  const work = (async () => {
    while (!stopped) {
      next();
      await systemClock.sleep(FORGED_EVERY_MS);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await work;
      for (let more = 0; more < FORGED_AT_THE_END; more += 1) next();
      return await Promise.all(open);
    },
  };
}
