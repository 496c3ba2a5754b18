import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListMessagesAnswer } from '../../src/contract/service/messages.ts';
import { simulatedSessions } from '../../src/platform/network/sessions.ts';
import { startTestSandbox } from '../sandbox/fixture.ts';
import { ofFile } from '../support/of-file.ts';
import { proves } from '../support/proves.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const MINUTE = 60_000;
/** By then every outage was found, healed or given up. */
const ALL_FOUND = 20 * MINUTE;
const OWNERS = 2;

/** What may happen next; all but time happens to one connection. */
type Happening =
  | { readonly what: 'outage'; readonly cause: string; readonly heals: boolean }
  | { readonly what: 'phone'; readonly on: boolean }
  | { readonly what: 'recover' | 'restart' | 'scan' | 'message' }
  | { readonly what: 'time'; readonly ms: number };

interface Step {
  readonly owner: number;
  readonly happening: Happening;
}

const causes = ['session_lost', 'phone_off', 'session_ageing', 'opened_elsewhere', 'zombie'];

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('outage' as const),
      cause: fc.constantFrom(...causes),
      heals: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('time' as const),
      ms: fc.integer({ min: 1, max: 12 * MINUTE }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('phone' as const), on: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constantFrom(
        'recover' as const,
        'recover' as const,
        'message' as const,
        'restart' as const,
        'scan' as const,
      ),
    }),
  },
);

const story = fc.array(fc.record({ owner: fc.nat(OWNERS - 1), happening }), { minLength: 20, maxLength: 50 });

describe('any sequence of outages', () => {
  const bed = ofFile(startTestSandbox);

  interface Cast {
    readonly key: string;
    /** The last entry of the ledger before the story. */
    readonly before: number;
    readonly connections: readonly { readonly id: string; readonly written: string[] }[];
  }

  const succeed = async (method: string, path: string, body?: object) => {
    const answer = await bed.call(method, path, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };

  async function castStory(): Promise<Cast> {
    const { workspace } = await succeed('POST', '/workspaces', { kind: 'standalone' });
    const { key } = await succeed('POST', `/workspaces/${workspace.id}/api-keys`);
    const connections: Cast['connections'][number][] = [];
    for (let owner = 0; owner < OWNERS; owner += 1) {
      const { connection } = await succeed('POST', `/workspaces/${workspace.id}/connections`, {
        provider: 'qr',
        phoneNumber: `44770090030${owner}`,
      });
      connections.push({ id: connection.id, written: [] });
    }
    const before = (await bed.service.platform.ledger.read({}, 1_000_000)).at(-1)?.seq ?? 0;
    return { key, before, connections };
  }

  /** The owner scans whatever the service shows. What is live shows nothing. */
  async function scan(key: string, id: string): Promise<void> {
    const { body } = await bed.service.call('GET', `/connections/${id}`, { key });
    const { qr } = (body as { connection: { qr?: string } }).connection;
    if (qr !== undefined) await succeed('POST', `/connections/${id}/scan`, { qr });
  }

  async function play({ key, connections }: Cast, { owner, happening: next }: Step): Promise<void> {
    const connection = connections[owner];
    if (connection === undefined) return;
    const { id, written } = connection;
    if (next.what === 'time') await succeed('POST', '/clock/advance', { ms: next.ms });
    else if (next.what === 'scan') await scan(key, id);
    else if (next.what === 'restart') await bed.service.call('POST', `/connections/${id}/restart`, { key });
    else if (next.what === 'message') {
      const message = { connectionId: id, text: `number ${written.length}` };
      const { messageId } = await succeed('POST', '/contacts/447700900201/messages', message);
      written.push(messageId);
    } else {
      const { what, ...body } = next;
      const given = what === 'recover' ? undefined : body;
      const { status } = await bed.call('POST', `/connections/${id}/${what}`, given);
      // 409: there is no outage to end, or no session to break.
      expect([200, 409]).toContain(status);
    }
  }

  const readSessions = ({ connections }: Cast) =>
    Promise.all(connections.map(({ id }) => simulatedSessions.read(bed.service.database, id)));

  const readTold = ({ before }: Cast) => bed.service.platform.ledger.read({ after: before }, 1_000_000);

  /**
   * Breaks and recoveries are told in turns, what was told last is shown, and what works is shown to work.
   * Answers how many connections are shown as broken.
   */
  async function checkHealth(cast: Cast): Promise<number> {
    const { body } = await bed.service.call('GET', '/connections', { key: cast.key });
    const open = new Set(
      (body as { connections: { id: string; status: string }[] }).connections
        .filter(({ status }) => status === 'open')
        .map(({ id }) => id),
    );
    const ledger = (await readTold(cast)).filter(({ messageId }) => messageId === null);
    const sessions = await readSessions(cast);
    for (const [owner, { id }] of cast.connections.entries()) {
      const told = ledger.filter(({ connectionId }) => connectionId === id);
      const turns = told.map((_, index) => (index % 2 === 0 ? 'disconnected' : 'connected'));
      expect(told.map(({ event }) => event)).toEqual(turns.map((turn) => `connection.${turn}`));
      expect(open.has(id)).toBe(turns.at(-1) !== 'disconnected');
      if (sessions[owner]?.alive === true) expect(open).toContain(id);
    }
    return cast.connections.length - open.size;
  }

  /** Once every outage was found, what is shown to work works, and the account counts what does not. */
  async function checkFound(cast: Cast): Promise<void> {
    const broken = await checkHealth(cast);
    expect((await readSessions(cast)).filter((session) => !session.alive)).toHaveLength(broken);
    const account = await bed.service.call('GET', '/account', { key: cast.key });
    expect(account.body).toMatchObject({
      connections: { total: OWNERS, connected: OWNERS - broken, needsReconnect: broken },
    });
  }

  /** Once all sessions work again, all that people wrote is there, in their order and told once. */
  async function checkMessages(cast: Cast): Promise<void> {
    const ledger = (await readTold(cast)).filter(({ event }) => event === 'message.received');
    for (const { id, written } of cast.connections) {
      const path = `/messages?limit=100&connectionId=${id}`;
      const { body } = await bed.service.call('GET', path, { key: cast.key });
      const listed = (body as ListMessagesAnswer).messages.map((message) => message.id);
      expect(listed.toReversed()).toEqual(written);
      const told = ledger.filter(({ connectionId }) => connectionId === id);
      expect(told.map(({ messageId }) => messageId)).toEqual(written);
    }
  }

  test('is reported as alternating breaks and recoveries that agree with the state, and loses no message', async () => {
    proves('events.disconnected.fires', 'events.connected.fires');
    proves('state.recovered.reported-once', 'state.paired.reported');
    const tell = async (steps: readonly Step[]): Promise<void> => {
      const cast = await castStory();
      for (const step of steps) {
        await play(cast, step);
        await checkHealth(cast);
      }
      await succeed('POST', '/clock/advance', { ms: ALL_FOUND });
      await checkFound(cast);
      for (const { id } of cast.connections) await scan(cast.key, id);
      await succeed('POST', '/clock/advance', { ms: MINUTE });
      await checkFound(cast);
      await checkMessages(cast);
    };
    await fc.assert(fc.asyncProperty(story, tell), WHOLE ? { numRuns: 100 } : { numRuns: 10, seed: 1 });
  });
});
