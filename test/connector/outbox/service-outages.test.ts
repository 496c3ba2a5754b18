import { expect, it, onTestFinished } from 'vitest';
import { ConnectorWorld } from '../support/running-connector.ts';
import type { Fault, ServiceRequest } from '../support/scripted-service.ts';

const STEP_MS = 5_000;
const OUTAGE_MS = 600_000;
/** As docs/your-crm.md promises. */
const RESUMED_MS = 10_000;
const RETRY_AFTER = { 'retry-after': '5' };

it.each<[what: string, fault: Fault, file: string]>([
  ['resets connections', 'reset', 'unknown'],
  ['answers 503 with Retry-After', { status: 503, body: '', headers: RETRY_AFTER }, 'unknown'],
  [
    'answers 429 with Retry-After',
    { status: 429, body: { error: 'rate_limited' }, headers: RETRY_AFTER },
    'sent',
  ],
])(
  'after ten minutes in which the service %s, all waiting sends go out within 10 s',
  async (_, fault, file) => {
    const world = await ConnectorWorld.open();
    onTestFinished(() => world.close());
    const { service, clock } = world;
    for (const id of ['c1', 'c2']) service.addConnection(id);
    const running = await world.start({ random: () => 1 });
    await running.runPolls();
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        await clock.advance(STEP_MS);
        await running.connector.settle();
      }
    };
    const send = async (reference: string, connectionId: string, what: object): Promise<void> => {
      const body = { connectionId, to: '447700900201', reference, ...what };
      expect((await running.ask('POST', '/v1/messages', { body })).status).toBe(202);
    };
    const states = async () => {
      const { outbound } = (await running.ask('GET', '/v1/outbound')).body;
      const sends = outbound as { reference: string; state: string }[];
      return Object.fromEntries(sends.map(({ reference, state }) => [reference, state]));
    };
    const arrived: string[] = [];
    const takeSend = ({ method, path, body }: ServiceRequest): Fault | undefined => {
      if (method !== 'POST' || path !== '/messages') return undefined;
      const { text = 'file' } = JSON.parse(body);
      arrived.push(text);
      return { status: 200, body: { messageId: `m-${text}`, waMessageId: null, status: 'sent' } };
    };

    service.fault = () => fault;
    const media = { filename: 'a.txt', mimetype: 'text/plain', data: 'YQ==' };
    await send('file', 'c1', { media });
    await send('same', 'c1', { text: 'same' });
    await send('other', 'c2', { text: 'other' });
    await pass(OUTAGE_MS / 2);
    await send('later', 'c2', { text: 'later' });
    await pass(OUTAGE_MS / 2);
    const waiting = { same: 'queued', other: 'queued', later: 'queued' };
    expect(await states()).toEqual({ ...waiting, file: file === 'sent' ? 'queued' : file });
    expect(arrived).toEqual([]);

    service.fault = takeSend;
    await pass(RESUMED_MS);
    expect(await states()).toEqual({ same: 'sent', other: 'sent', later: 'sent', file });
    expect(arrived.toSorted()).toEqual([...(file === 'sent' ? ['file'] : []), 'later', 'other', 'same']);
  },
);
