import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runSandbox } from '../../src/commands/run-sandbox.ts';
import { sandboxEvent } from '../../src/contract/sandbox/calls.ts';
import { readEvents } from '../support/event-reader.ts';
import { listen } from '../support/listen.ts';
import { startTestLoop } from '../support/loop.ts';
import { callJson } from '../support/loop-client.ts';
import { ofFile } from '../support/of-file.ts';
import type { Caller } from '../support/read-lists.ts';
import { runInProcess } from '../support/run-in-process.ts';

/** Several processes start in a test, on a machine that may be busy. */
const SLOW_MS = 120_000;
const FRONT_DESK = '447700900101';
const CONTACT = '447700900201';

const runHere = (words: readonly string[]) => runInProcess(runSandbox, words);

describe('npm run sandbox', { timeout: SLOW_MS }, () => {
  const test = ofFile(startTestLoop);
  let url: string;
  /** The snapshot with which each test begins. */
  let begun: string;

  beforeAll(async () => {
    url = test.loop.info().sandboxUrl;
    ({ id: begun } = await test.sandbox<{ id: string }>('POST', '/snapshots', {}));
  }, SLOW_MS);
  beforeEach(() => test.sandbox('POST', `/snapshots/${begun}/restore`));

  const run = (...words: string[]) => runHere([...words, '--url', url]);

  /** What it prints for people, without the last line break. */
  async function told(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...words);
    expect({ code, stderr }, words.join(' ')).toEqual({ code: 0, stderr: '' });
    return stdout.replace(/\n$/, '');
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
  const json = async (...words: string[]): Promise<any> => JSON.parse(await told(...words, '--json'));
  const service: Caller = (...call) => test.service(...call);
  /** The id of the front desk. */
  const firstId = async (): Promise<string | undefined> =>
    (await service<{ connections: { id: string }[] }>('GET', '/connections')).connections[0]?.id;

  it('info: prints addresses and the key', async () => {
    const { baseUrl, apiKey } = test.loop.info();
    const printed = await told('info');
    expect(printed).toContain(`service     ${baseUrl}\n`);
    expect(printed).toContain(`API key     ${apiKey}\n`);
    expect(await json('info')).toMatchObject({ baseUrl, apiKey, sandboxUrl: url });
  });

  it('streams the changes of the connector with its events', async () => {
    const reader = await readEvents(`${url}/sandbox/v1/events`, (data) => sandboxEvent.parse(data));
    await reader.find((event) => event.type === 'changed' && event.what === 'connector');
    const id = await told('say', FRONT_DESK, CONTACT, 'Hello');
    const found = await reader.find(
      (event) => event.type === 'change' && event.change.type === 'message.created',
    );
    expect(found).toMatchObject({ change: { messageId: id, data: { text: 'Hello', peer: CONTACT } } });
    reader.close();
  });

  it('info FIELD, id: print one value, for use in a shell', async () => {
    expect(await told('info', 'apiKey')).toBe(test.loop.info().apiKey);
    const { code, stderr } = await run('info', 'key');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^There is no field "key"\. The fields are baseUrl, .*apiKey/);
    const id = (await firstId()) ?? '';
    expect([await told('id', FRONT_DESK), await told('id', 'Front desk'), await told('id', id)]).toEqual([
      id,
      id,
      id,
    ]);
    expect(await json('id', FRONT_DESK)).toEqual({ id });
    const body = { provider: 'qr', phoneNumber: FRONT_DESK, label: 'Elsewhere' };
    const { workspace } = await callJson<{ workspace: { id: string } }>(`${url}/sandbox/v1/workspaces`, {
      method: 'POST',
      body: { kind: 'standalone' },
    });
    await callJson(`${url}/sandbox/v1/workspaces/${workspace.id}/connections`, { method: 'POST', body });
    expect(await told('id', FRONT_DESK)).toBe(id);
    expect(await told('id', 'Elsewhere')).not.toBe(id);
  });

  it('wait, verify: exit with 1 and print what differs', async () => {
    const id = await told('say', FRONT_DESK, CONTACT, 'Hello');
    expect(await told('wait', 'deliveries', `message:${id}`, 'status:delivered')).toMatch(
      /^1 of 1 found: delivery \d+ \(message\.received, delivered\)\.$/,
    );
    const missed = await run('wait', 'deliveries', `message:${id}`, 'status:dropped', '--timeout', '0');
    expect(missed).toMatchObject({ code: 1, stderr: '' });
    expect(missed.stdout).toMatch(/^0 of 1 found.*\bdelivery \d+ \(message\.received, delivered\)/s);

    await told('say', FRONT_DESK, CONTACT, 'Bye');
    await told('wait', 'messages', 'direction:incoming', '--count', '2');
    expect(await told('verify', 'messages', 'Hello', 'then', 'Bye', '--only')).toBe(
      'All 2 expected entries are there in this order, and no others.',
    );
    const differs = await run('verify', 'messages', 'Bye', 'then', 'Hello', '--json');
    expect(differs).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(differs.stdout)).toMatchObject({ holds: false, examined: 2 });
    expect((await run('verify', 'messages', 'Bye', 'then', 'Hello', '--any-order')).code).toBe(0);
    expect(await run('wait', 'people')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("invalid_request: 'list'"),
    });
  });

  it('snapshot, snapshots, restore: bring back the same key, messages, time and timing', async () => {
    const clock = (to: string) => json('call', 'POST', `/sandbox/v1/clock/${to}`);
    await told('timing', '0.5');
    const { now } = await clock('freeze');
    const key = await told('info', 'apiKey');
    const message = await told('say', FRONT_DESK, CONTACT, 'Kept');
    const id = await told('snapshot', 'one message');
    expect(await told('snapshots')).toMatch(new RegExp(`^${id}  \\d{4}-\\S+Z  one message$`, 'm'));
    await told('reset');
    await clock('run');
    expect(await told('messages')).toBe('no messages');
    expect(await told('restore', id)).toBe(`restored; virtual time is ${now}`);
    expect(await told('messages')).toContain(message);
    expect(await json('timing')).toEqual({ sendScale: 0.5 });
    expect(await json('call', 'GET', '/sandbox/v1/clock')).toMatchObject({ now, frozen: true });
    expect(await told('info', 'apiKey')).toBe(key);
    expect(await run('restore', 'nothing')).toMatchObject({
      code: 1,
      stderr: 'not_found: No snapshot has this id. They are kept until the sandbox stops.\n',
    });
  });

  it('accepts options before the subcommand, and --url rather than SANDBOX_URL', async () => {
    vi.stubEnv('SANDBOX_URL', 'http://127.0.0.1:9');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, stdout } = await runHere(['--url', url, '--json', 'info', 'apiKey']);
    expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      answer: { apiKey: test.loop.info().apiKey },
    });
  });

  it('connections: lists those of all workspaces, in pages', async () => {
    const { entries } = await json('connections');
    expect(entries[0]).toEqual({
      id: await firstId(),
      workspaceId: test.loop.info().workspaceId,
      phoneNumber: FRONT_DESK,
      label: 'Front desk',
      provider: 'qr',
      status: 'connected',
      licenseStatus: 'active',
      licenseExpires: expect.stringMatching(/^\d{4}-/),
      outage: null,
      needsReconnect: false,
    });
    const lines = (await told('connections', '--limit', '1')).split('\n');
    expect(lines).toEqual([`${entries[0].id}  ${FRONT_DESK}  qr  connected  license active  Front desk`]);
  });

  it('connection: explains the state of a connection', async () => {
    const { id, transitions } = await json('connection', FRONT_DESK);
    expect(transitions.map(({ cause }: { cause: string }) => cause)).toEqual(['paired', 'created']);
    const lines = (await told('connection', 'Front desk')).split('\n');
    expect(lines.slice(0, 7)).toEqual([
      `id         ${id}`,
      `workspace  ${test.loop.info().workspaceId}`,
      'label      Front desk',
      `number     ${FRONT_DESK}`,
      'provider   qr',
      'status     connected',
      'outage     none',
    ]);
    expect(lines.slice(8, 12)).toEqual(['slot       yes', 'warm-up    none', 'phone      on', '']);
    expect(lines.at(-2)).toBe(`${transitions[0].at}  connecting -> connected  paired   -  -`);
    expect(lines.at(-1)).toBe(`${transitions[1].at}  none -> connecting       created  -  -`);
  });

  it('say, received: people write, and receive what was sent to them', async () => {
    const connectionId = (await firstId()) ?? '';
    const byNumber = await told('say', FRONT_DESK, CONTACT, 'Hello', 'there');
    const byId = await json('say', connectionId, CONTACT, 'Again');
    const { messages } = await service<{ messages: object[] }>('GET', '/messages?limit=2');
    expect(messages).toMatchObject([
      { id: byId.messageId, text: 'Again', connectionId },
      { id: byNumber, text: 'Hello there', connectionId },
    ]);
    expect(await told('received', CONTACT)).toBe('no messages');
    await service('POST', '/messages', { connectionId, to: CONTACT, text: 'Good\n\u001b[31mmorning' });
    expect(await told('received', CONTACT)).toMatch(/^\S+Z {2}447700900101 {2}\w+ {2}Good \[31mmorning$/);
  });

  it('pair: adds a number; an existing number is refused in one line', async () => {
    const id = await told('pair', '447700900150', 'Second desk');
    const { connection } = await service<{ connection: object }>('GET', `/connections/${id}`);
    expect(connection).toMatchObject({
      status: 'connected',
      phoneNumber: '447700900150',
      label: 'Second desk',
    });
    expect(await run('pair', '447700900150')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'wrong_state: Another connection of the workspace has this number.\n',
    });
  });

  it('scan, enter-code: pair the phone of an owner', async () => {
    const make = async (): Promise<string> =>
      (await service<{ connection: { id: string } }>('POST', '/connections', {})).connection.id;
    const statusOf = async (id: string): Promise<string> =>
      (await service<{ connection: { status: string } }>('GET', `/connections/${id}`)).connection.status;
    const scanned = await make();
    expect(await told('scan', scanned)).toBe('paired');
    const named = await make();
    expect(await json('scan', named, '447700900160')).toEqual({ ok: true });
    const typed = await make();
    const body = { phoneNumber: '447700900161' };
    const { code } = await service<{ code: string }>('POST', `/connections/${typed}/pairing-code`, body);
    expect(await told('enter-code', typed, code)).toBe('paired');
    expect(await Promise.all([scanned, named, typed].map(statusOf))).toEqual(Array(3).fill('connected'));
    expect((await run('scan', scanned)).stderr).toMatch(/^already_connected: /);
    expect((await run('enter-code', await make(), 'AAAA-AAAA')).stderr).toMatch(/^code_expired: /);
  });

  it('outage, advance, recover: time advances, and the service notices', async () => {
    expect(await told('outage', FRONT_DESK)).toBe('broken; the service detects it later (advance the time)');
    const passed = await told('advance', '5m');
    expect(passed).toMatch(/^\S+Z {2}now\n(?:.*\n)*\S+Z {2}outage\.found/);
    expect((await json('connections')).entries[0].status).toBe('disconnected');
    expect(await told('recover', FRONT_DESK)).toBe('recovered');
    expect((await run('recover', FRONT_DESK)).stderr).toMatch(/^wrong_state: /);
    const { now } = await json('advance', '1500ms');
    const later = new Date(Date.parse(now) + 86_400_000).toISOString();
    expect((await json('advance', later)).now >= later).toBe(true);
  });

  it('timing: shows and sets the duration of sends', async () => {
    expect(await told('timing', '0.5')).toBe('sends take 0.5 × their real time');
    expect(await json('timing')).toEqual({ sendScale: 0.5 });
    await told('timing', '0');
  });

  it('faults: a rule replaces all others, and clear removes it', async () => {
    expect(await told('faults', 'drop', '--connection', FRONT_DESK, '--first', '2')).toMatch(
      /^drop {2}\{"surface":"webhook","connectionId":"\w+"\} {2}\{"type":"drop"\} {2}0 hits$/,
    );
    const { workspaceId } = test.loop.info();
    const call = ['--path', '/messages*', '--method', 'POST', '--workspace', workspaceId];
    const words = [...call, '--code', '429', '--retry-after', '3'];
    const { rules } = await json(
      'faults',
      'status',
      ...words,
      '--error',
      'rate_limited',
      '--probability',
      '0.5',
    );
    expect(rules).toEqual([
      {
        id: 'status',
        match: { surface: 'api', method: 'POST', path: '/messages*', workspaceId },
        action: { type: 'status', code: 429, retryAfter: 3, error: 'rate_limited' },
        probability: 0.5,
        hits: 0,
      },
    ]);
    expect(await json('faults')).toMatchObject({ rules });
    const surfaces = [
      await json('faults', 'delay', '--ms', '5'),
      await json('faults', 'delay', '--ms', '5', '--path', '/account'),
      await json('faults', 'delay', '--ms', '5', '--surface', 'oauth'),
    ].map((answer) => answer.rules[0].match.surface);
    expect(surfaces).toEqual(['webhook', 'api', 'oauth']);
    expect(
      await json('faults', 'stale_timestamp', '--by-ms', '60', '--first', '2', '--per', 'event'),
    ).toMatchObject({
      rules: [{ action: { type: 'stale_timestamp', byMs: 60 }, first: 2, per: 'event' }],
    });
    expect(await told('faults', 'clear')).toBe('no faults');
    expect((await run('faults', 'status')).stderr).toBe(
      "invalid_request: 'rules.0.action.code': is missing.\n",
    );
  });

  it('call: makes any call of the API, and prints one field of its answer', async () => {
    const id = await told(
      'call',
      'POST',
      '/service/connections',
      '{"label":"Desk"}',
      '--field',
      'connection.id',
    );
    expect(await told('id', 'Desk')).toBe(id);
    expect(await told('call', 'get', '/connector/v1/messages?limit=1', '--field', 'messages,hasMore')).toBe(
      '[] false',
    );
    const workspace = await told('workspace');
    const options = ['--workspace', workspace, '--field', 'connections.total'];
    expect(await told('call', 'GET', '/service/account', ...options)).toBe('0');
    const keys = `/sandbox/v1/workspaces/${workspace}/api-keys`;
    const key = await told('call', 'POST', keys, '{}', '--field', 'id');
    const used = async () => new RegExp(`^${workspace} .* {2}(.*)$`, 'm').exec(await told('workspaces'))?.[1];
    expect(await used()).toBe('2 API keys');
    await told('call', 'DELETE', `/sandbox/v1/api-keys/${key}`);
    expect(await used()).toBe('1 API key');
    expect(await json('call', 'GET', '/sandbox/v1/timing')).toEqual({ sendScale: expect.any(Number) });
    for (const [words, said] of [
      [['GET', '/service/connections/none'], 'not_found: '],
      [['POST', '/service/messages', '{}'], 'invalid_request: '],
      [['GET', 'service/account'], '<path> must begin with a slash'],
      [['GET', '/service/account', '{}'], 'GET/HEAD method cannot have body'],
      [['GET', '/service/account', '--field', 'slots.gone'], 'The response has no field "slots.gone"'],
    ] as const) {
      const { code, stderr } = await run('call', ...words);
      expect(code).not.toBe(0);
      expect(stderr).toContain(said);
    }
  });

  it('copy, explain-signature: change a delivery, and compare its signature', async () => {
    await told('say', FRONT_DESK, CONTACT, 'Hello');
    const path = '/sandbox/v1/deliveries?limit=1&outcome=delivered';
    await test.loop.settle();
    const [delivery] = (await json('call', 'GET', path)).entries;
    const copy = await json('copy', delivery.id, '--body', '{"event":"x"}', '--header', 'X-Test: a: b');
    expect(copy).toMatchObject({ copyOf: delivery.id, body: '{"event":"x"}' });
    await test.loop.settle();
    expect(await told('deliveries', '--limit', '1')).toContain(`${copy.id} copy of ${delivery.id}`);
    expect((await run('copy', delivery.id, '--header', 'x')).stderr).toContain(
      '--header must be "Name: value"',
    );

    const sent = delivery.headers['X-Service-Signature'];
    const bare = sent.replace('sha256=', '');
    const printed = await told('explain-signature', delivery.id, '--signature', bare);
    expect(printed.split('\n')).toEqual([
      'matches  no',
      `sent     ${sent}`,
      `differs  at character 0: "s", not "${bare[0]}"`,
      'cause    prefix_missing',
      expect.stringContaining('begins with `sha256=`'),
    ]);
    expect(await json('explain-signature', delivery.id, '--signature', sent)).toMatchObject({
      matches: true,
    });
    expect((await run('explain-signature', delivery.id)).stderr).toContain('--signature is missing');
  });

  it('deliveries, calls: list deliveries and calls with their outcome', async () => {
    const messageId = await told('say', FRONT_DESK, CONTACT, 'Hello');
    await test.loop.settle();
    const deliveries = await told('deliveries');
    expect(deliveries).toMatch(
      new RegExp(`^\\d+  \\S+Z  message\\.received  ${messageId}  delivered  200$`, 'm'),
    );
    await told('faults', 'status', '--path', '/account', '--code', '429');
    await expect(service('GET', '/account')).rejects.toThrow('429');
    // The connector asks for the account, too.
    const refused = (await told('calls', '--limit', '50'))
      .split('\n')
      .filter((line) => line.includes(' 429 '));
    expect(refused).toContainEqual(
      expect.stringMatching(
        /^\S+Z +GET +\/account +429 +rate_limited +the rule "status" answered 429; nothing was done$/,
      ),
    );
    expect((await json('calls', '--limit', '1')).entries).toHaveLength(1);
  });

  it('tunnel: directs a public host to this machine', async () => {
    expect(await told('tunnel', 'acme.example.com', 'http://127.0.0.1:3000')).toBe(
      'https://acme.example.com forwards to http://127.0.0.1:3000',
    );
    expect((await run('tunnel', 'localhost', 'http://127.0.0.1:3000')).stderr).toMatch(
      /^invalid_request: 'host': /,
    );
  });

  it('reset: starts from scratch, with another key', async () => {
    const { apiKey: before } = test.loop.info();
    const printed = await told('reset');
    const { apiKey } = test.loop.info();
    expect(apiKey).not.toBe(before);
    expect(printed).toBe(`reset       API key ${apiKey}`);
  });

  it('exits with 1 for a number that no connection has', async () => {
    expect(await run('outage', '447700900999')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'No connection has the id, the phone number or the label "447700900999".\n',
    });
  });

  it('has a help text, and one for each subcommand', async () => {
    const help = await told('--help');
    expect(help).toMatch(/^Usage: npm run sandbox -- \[subcommand\.\.\.\] \[options\]\n\n[A-Z]/);
    const names = [...help.matchAll(/^ {2}([a-z-]+)(?: [<[].*?)? {2,}\w/gm)].map(([, name = '']) => name);
    expect(names).toEqual(expect.arrayContaining(['info', 'say', 'scan', 'advance', 'faults', 'reset']));
    expect(await told('say', '--help')).toMatch(
      /^Usage: npm run sandbox -- say <connection> <from> <text\.\.\.> \[options\]\n\n[A-Z]/,
    );
  });
});

describe('npm run sandbox while no sandbox runs', { timeout: SLOW_MS }, () => {
  it.each([
    [[], 'A subcommand is missing.'],
    [['nothing'], 'There is no subcommand "nothing".\n'],
    [['sayy'], 'There is no subcommand "sayy". Did you mean "say"? See --help.\n'],
    [['Advnace', '5m'], 'Did you mean "advance"?'],
    [
      ['say', FRONT_DESK],
      '<from> is missing: npm run sandbox -- say <connection> <from> <text...> [options]',
    ],
    [['reset', 'more'], '"more" is an unexpected argument.'],
    [['advance', 'soon'], '"soon" is not a time: write 500ms, 30s, 5m, 2h or 7d'],
    [['faults', 'explode'], 'There is no fault "explode". Use clear, or one of drop, duplicate,'],
    [['faults', 'drop', '--first', 'one'], '--first must be a number, not "one".'],
    [['say', 'support', '447', 'hi', '--times', 'many'], '--times must be a number, not "many".'],
    [['timing', 'fast'], '[scale] must be a number, not "fast".'],
    [['info', '--jsn'], "Unknown option '--jsn'"],
  ])('exits with 2 for %j, and names the argument', async (words, named) => {
    const { code, stdout, stderr } = await runHere(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(named);
    expect(stderr).not.toContain('    at ');
  });

  it('explains how to start one if nothing listens', async () => {
    const server = await listen((_request, response) => void response.end());
    await server.drain(0);
    const { code, stdout, stderr } = await runHere(['info', '--url', `http://127.0.0.1:${server.port}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `No sandbox listens at http://127.0.0.1:${server.port}. Start one with npm start, or without a connector with npm run platform. ` +
        'If it listens elsewhere, pass its address as --url.\n',
    );
  });

  it('reports that the server is not a sandbox if another program answers', async () => {
    const server = await listen((_request, response) => void response.writeHead(200).end('<html></html>'));
    const url = `http://127.0.0.1:${server.port}`;
    for (const [words, call] of [
      [['info'], 'GET /sandbox/v1/info'],
      [['call', 'GET', '/x'], 'GET /x'],
    ] as const)
      expect(await runHere([...words, '--url', url])).toEqual({
        code: 1,
        stdout: '',
        stderr: `${call} of the server at ${url} is not answered with JSON. Is a sandbox there?\n`,
      });
    await server.drain(0);
  });

  it('uses the address of SANDBOX_URL unless --url is given', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('SANDBOX_URL', 'http://127.0.0.1:9');
    expect((await runHere(['info'])).stderr).toContain('No sandbox listens at http://127.0.0.1:9.');
    vi.stubEnv('SANDBOX_URL', '');
    expect((await runHere(['info'])).stderr).not.toContain('must be an address');
  });

  it('refuses an invalid address', async () => {
    const { code, stderr } = await runHere(['info', '--url', '127.0.0.1:4000']);
    expect(code).toBe(2);
    expect(stderr).toContain('--url or SANDBOX_URL must be an address such as http://127.0.0.1:4000');
  });
});
