import { describe, expect, it } from 'vitest';
import { showOffset, summarize } from '../../src/scenario/describe-cause.ts';
import { compareConnector } from '../../src/scenario/observe.ts';
import { writeDifferences, writeReplayJunit } from '../../src/scenario/report-replay.ts';
import { readScenario, type Scenario, writeScenario } from '../../src/scenario/scenario.ts';
import { shrink } from '../../src/scenario/shrink.ts';
import type { ConnectorState, World } from '../../src/scenario/world.ts';

const HEAD =
  '{"scenario":1,"startedAt":"2026-11-23T04:00:00.000Z","endedAt":"2026-11-23T05:00:00.000Z","frozen":false,"sendScale":0,"connector":true,"complete":true,"names":{"$connection1":{"phoneNumber":"447700900101","nth":1}}}';
const CAUSE =
  '{"cause":1,"at":61001,"surface":"sandbox","method":"POST","path":"/contacts/447700900201/messages","body":{"connectionId":"$connection1","text":"<script>alert(1)</script>"}}';
const MESSAGE =
  '{"observed":"message","connection":"447700900101","direction":"incoming","peer":"447700900201","nth":1,"text":"<script>alert(1)</script>","status":"delivered","deliveries":["message.received: delivered"]}';
const FILE = `${HEAD}\n${CAUSE}\n${MESSAGE}\n`;

const LATE = {
  of: 'incoming message 1 from 447700900201 of 447700900101',
  field: 'deliveries',
  expected: '["message.received: delivered"]',
  actual: '["message.received: dropped"]',
  cause: 1,
};

it.each([
  ['sent, delivered, read', []],
  ['read, delivered', ['reported statuses']],
  ['sent, delivered, delivered', ['reported statuses']],
])('a connector that reports the statuses %s differs in %j', (statuses, fields) => {
  const message = { id: 'm1', connectionId: 'c1', direction: 'outgoing', text: 'Hello', status: 'read' };
  const world = {
    workspaceId: 'w1',
    connections: [{ id: 'c1', phoneNumber: '447700900101', licenseStatus: 'active' }],
    messages: [{ ...message, workspaceId: 'w1', peer: '447700900201' }],
    deliveries: [],
  } as unknown as World;
  const changes = statuses.split(', ').map((status, index) => ({
    type: index === 0 ? 'message.created' : 'message.status',
    messageId: 'm1',
    data: { status },
  }));
  const state = { messages: [message], changes } as unknown as ConnectorState;
  expect(compareConnector(world, state, () => null).map(({ field }) => field)).toEqual(fields);
});

describe('a scenario file', () => {
  it('is unchanged after it is read and written', () => {
    expect(writeScenario(readScenario(FILE))).toBe(FILE);
  });

  it.each([
    ['', 'The file is empty.'],
    ['{"name":"package"}\n', 'Line 1 is not a line of a scenario at scenario: Invalid input: expected 1.'],
    [`${HEAD}\nnone\n`, 'Line 2 is not JSON.'],
    [
      `${HEAD}\n\n${CAUSE.replace('"at":61001', '"at":-1')}\n`,
      'Line 3 is not a line of a scenario at at: Too small: expected number to be >=0.',
    ],
  ])('is rejected with the line number: %j', (text, message) => {
    expect(() => readScenario(text)).toThrow(message);
  });
});

describe('a cause', () => {
  it.each<[string, Partial<Scenario['causes'][number]>, string | null]>([
    ['of the sandbox', {}, 'Sends a message from the person to a connection.'],
    ['with a query', { method: 'DELETE', path: '/faults?now' }, 'Removes all fault rules.'],
    ['of the connector', { surface: 'connector', path: '/v1/sync' }, 'Polls now.'],
    ['that no API has', { path: '/nowhere' }, null],
  ])('%s is described in the terms of its API', (_, change, words) => {
    const [cause] = readScenario(FILE).causes;
    if (cause === undefined) throw new Error('the file has no cause');
    const found = summarize({ ...cause, ...change });
    if (words === null || change.surface !== undefined) expect(found === null).toBe(words === null);
    else expect(found).toBe(words);
  });

  it.each([
    [0, '00:00.000'],
    [61_001, '01:01.001'],
    [26 * 3_600_000, '26:00:00.000'],
  ])('after %d ms is shown as %s', (ms, shown) => {
    expect(showOffset(ms)).toBe(shown);
  });
});

describe('a scenario that is shrunk', () => {
  const WRONG = { of: 'message 1, in the connector', field: 'status', expected: 'read', actual: 'delivered' };
  const [hello] = readScenario(FILE).causes;
  if (hello === undefined) throw new Error('the file has no cause');
  const send = { ...hello, cause: 2, path: '/v1/messages', body: { messageId: '$message1' } };
  const causes = [
    hello,
    send,
    { ...hello, cause: 3, path: '/clock/advance', body: {} },
    { ...hello, cause: 4 },
  ];
  const names = {
    $connection1: { phoneNumber: '447700900101', nth: 1 },
    $message1: { message: 'incoming', connection: '$connection1', peer: '447700900201', nth: 1 },
  } as const;
  const scenario = {
    ...readScenario(FILE),
    causes,
    names: { ...names, $connection2: { ...names.$connection1 } },
  };

  it('keeps the one cause of its failure, with its number and the names that it uses', async () => {
    const shown = new Set<string>();
    /** What is shown only once is a race. */
    const isRace = (tried: Scenario['causes']): boolean => shown.size < shown.add(JSON.stringify(tried)).size;
    const small = await shrink(scenario, async ({ causes: tried, observations }) => ({
      differences: isRace(tried) || tried.includes(send) ? [{ ...WRONG, cause: 2 }] : [],
      observations,
    }));
    expect(small).toEqual({ ...scenario, causes: [send], names, observations: [] });
  });

  it.each([
    ['no difference', []],
    ['only differences to what was recorded', [LATE]],
  ])('is null if it shows %s', async (_, differences) => {
    expect(await shrink(scenario, async () => ({ differences, observations: [] }))).toBeNull();
  });
});

describe('the report of a replay', () => {
  it('names the field, the expected and actual values, and the cause of a difference', () => {
    expect(writeDifferences(readScenario(FILE), [LATE])).toBe(
      `✗ incoming message 1 from 447700900201 of 447700900101
  field     deliveries
  expected  ["message.received: delivered"]
  actual    ["message.received: dropped"]
  cause     1 at 01:01.001: Sends a message from the person to a connection.

1 cause repeated, 1 observations compared: 1 difference.
`,
    );
  });

  it('is JUnit XML with a test case for each observation', () => {
    const xml = writeReplayJunit(readScenario(FILE), [LATE]);
    expect(xml).toContain('<testsuite name="scenario" tests="1" failures="1">');
    expect(xml).toContain(
      '<failure message="deliveries: expected [&quot;message.received: delivered&quot;], found [&quot;message.received: dropped&quot;]"/>',
    );
  });
});
