import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import express from 'express';
import type {
  Newer,
  Subscription,
  SubscriptionSecrets,
} from '../../../src/connector/accounts/subscription-secrets.ts';
import type { AnswerLog } from '../../../src/connector/inbox/answer-log.ts';
import { createReceiver, type ReceiverLimits } from '../../../src/connector/inbox/receiver.ts';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import type { Deadline } from '../../../src/runtime/clock/deadline.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import {
  type HttpLimits,
  type HttpServer,
  startHttpServer,
} from '../../../src/runtime/http-server/http-server.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ACCOUNT, signHeaders, silentLogger } from './event-fixtures.ts';

export const SECRET = 'whsec_of_the_first_subscription';
export const FIRST: Subscription = {
  subscriptionId: 'sub-1',
  accountId: ACCOUNT,
  secrets: [{ secret: SECRET }],
};

/** Secrets in memory; `refreshed` replaces them when the receiver asks for newer ones. */
export class FixedSecrets implements SubscriptionSecrets {
  subscriptions: Subscription[];
  refreshed: Subscription[] | undefined;
  refreshes = 0;

  constructor(...subscriptions: Subscription[]) {
    this.subscriptions = subscriptions;
  }

  find(subscriptionId?: string): Subscription | null {
    const wanted = subscriptionId ?? this.subscriptions[0]?.subscriptionId;
    return this.subscriptions.find((entry) => entry.subscriptionId === wanted) ?? null;
  }

  isKnown(subscriptionId?: string): boolean {
    return this.find(subscriptionId) !== null;
  }

  async awaitNewer(
    known: Subscription,
    _deadline: Deadline,
    fits: (newer: Subscription) => boolean,
  ): Promise<Newer> {
    this.refreshes += 1;
    const { refreshed } = this;
    if (refreshed === undefined) return 'none';
    this.subscriptions = refreshed;
    this.refreshed = undefined;
    const newer = this.find(known.subscriptionId);
    return newer !== null && fits(newer) ? 'fits' : 'none';
  }
}

export type ReceiverFixture = Awaited<ReturnType<typeof startReceiver>>;

/** A receiver behind a real listener, with a 404 of its own kind for everything it passes on. */
export async function startReceiver(
  database: Database,
  options: {
    clock?: Clock;
    limits?: Partial<ReceiverLimits>;
    http?: Partial<HttpLimits>;
    answers?: AnswerLog;
  } = {},
) {
  const secrets = new FixedSecrets(FIRST);
  const metrics = createMetrics();
  const polled: string[] = [];
  let committed = 0;
  const receiver = createReceiver({
    database,
    subscriptions: secrets,
    clock: options.clock ?? systemClock,
    logger: silentLogger,
    metrics,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.answers === undefined ? {} : { answers: options.answers }),
    onCommitted: () => {
      committed += 1;
    },
    onConnectionEvent: (accountId) => polled.push(accountId),
  });
  const app = express();
  app.use(receiver.router);
  app.use((_request, response) => {
    response.status(404).send('passed on');
  });
  const server = await startHttpServer({
    app,
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
    clock: systemClock,
    ...(options.http === undefined ? {} : { limits: options.http }),
  });
  return {
    receiver,
    server,
    secrets,
    metrics,
    committed: () => committed,
    polled,
    close: async () => {
      await server.drain();
      await receiver.close();
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly ok?: boolean; readonly error?: string; readonly message?: string };
}

/** Sends signed bytes as the service does. */
export async function deliver(
  server: HttpServer,
  body: Uint8Array | string,
  options: {
    path?: string;
    secret?: string;
    timestamp?: number | string;
    headers?: Record<string, string>;
  } = {},
): Promise<Answer> {
  const timestamp = options.timestamp ?? systemClock.now();
  const answer = await fetch(`${server.url}${options.path ?? '/webhooks/messaging'}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : Buffer.from(body),
    headers: {
      'content-type': 'application/json',
      ...signHeaders(body, options.secret ?? SECRET, timestamp),
      ...options.headers,
    },
  });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
}

/** Writes raw bytes to the server and resolves with everything that came back until it closed or `until` holds. */
export async function exchange(
  server: HttpServer,
  chunks: readonly (string | Uint8Array)[],
  until: (text: string) => boolean = () => false,
): Promise<string> {
  const socket: Socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return await new Promise((resolve) => {
    let text = '';
    const finish = (): void => {
      socket.destroy();
      resolve(text);
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (until(text)) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
    for (const chunk of chunks) socket.write(chunk);
  });
}

/** Writes raw bytes and hangs up without waiting for an answer. */
export async function hangUpAfter(server: HttpServer, bytes: Uint8Array): Promise<void> {
  const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  const closed = once(socket, 'close');
  socket.resetAndDestroy();
  await closed;
}

/** The status lines of everything in a raw answer. */
export function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, code]) => Number(code))
    .filter((code) => code !== 100);
}

/** The header lines of a delivery that the service signs now. */
export function signedLines(body: Uint8Array | string): string[] {
  const signed = signHeaders(body, SECRET, systemClock.now());
  return Object.entries(signed).map(([name, value]) => `${name}: ${value}`);
}

/** A delivery as a raw request; `changes` replaces or adds header lines. */
export function rawRequest(
  body: Uint8Array | string,
  headerLines: readonly string[],
  target = '/webhooks/messaging',
): Buffer {
  const head = [`POST ${target} HTTP/1.1`, 'Host: connector', ...headerLines, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}
