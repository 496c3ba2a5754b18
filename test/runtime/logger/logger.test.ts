import { closeSync, existsSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, writeTo } from '../../../src/runtime/logger/logger.ts';
import { collectLog } from '../../support/log-to.ts';

interface Written {
  readonly text: () => string;
  readonly last: () => { msg?: unknown; err?: unknown };
  readonly logger: Logger;
}

function capture(): Written {
  const { lines, logger } = collectLog('trace');
  return {
    logger,
    text: () => lines.join(''),
    last: () => JSON.parse(lines.at(-1) ?? '{}') as { msg?: unknown; err?: unknown },
  };
}

const CANARY = 'cAnaRy7Kq2vXw9Zt4Lm8Np3Rs6Bd1Fg5Hj0';

class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code = 'send_failed';
  readonly request = { headers: { authorization: `Bearer ${CANARY}` }, body: CANARY };
  readonly detail = CANARY;
}

function circular(): object {
  const value = { secret: CANARY, self: {} };
  value.self = value;
  return value;
}

const SHAPES: [string, (logger: Logger) => void][] = [
  ['a key that is not allow-listed', (log) => log.info({ token: CANARY }, 'x')],
  ['headers', (log) => log.info({ headers: { authorization: `Bearer ${CANARY}` } }, 'x')],
  ['a body', (log) => log.info({ body: Buffer.from(CANARY) }, 'x')],
  ['deep nesting', (log) => log.info({ a: { b: { c: [{ password: CANARY }] } } }, 'x')],
  ['an allowed key with an object in it', (log) => log.info({ reason: { secret: CANARY } }, 'x')],
  ['an allowed key with a list of objects', (log) => log.info({ reason: [{ secret: CANARY }] }, 'x')],
  ['an allowed id that is no id', (log) => log.info({ connectionId: CANARY }, 'x')],
  ['an allowed word with a bearer token', (log) => log.info({ reason: `Bearer ${CANARY}` }, 'x')],
  ['an allowed number that is no number', (log) => log.info({ count: CANARY }, 'x')],
  ['an allowed flag that is no flag', (log) => log.info({ joined: CANARY }, 'x')],
  ['the credentials of a URL', (log) => log.info({ url: `https://user:${CANARY}@example.com/a` }, 'x')],
  ['the query of a URL', (log) => log.info({ url: `https://example.com/a?token=${CANARY}#${CANARY}` }, 'x')],
  ['the path of a URL', (log) => log.info({ url: `https://example.com/media/${CANARY}` }, 'x')],
  ['a URL object', (log) => log.info({ url: new URL(`https://u:${CANARY}@example.com`) }, 'x')],
  ['a URL that is none', (log) => log.info({ url: CANARY }, 'x')],
  ['a request-like object', (log) => log.info({ method: 'GET', headers: { a: CANARY }, socket: {} }, 'x')],
  ['a toJSON', (log) => log.info({ toJSON: () => ({ token: CANARY }) }, 'x')],
  ['a toJSON in an allowed key', (log) => log.info({ reason: { toJSON: () => CANARY } }, 'x')],
  ['a map', (log) => log.info(new Map([['token', CANARY]]), 'x')],
  ['a circular object', (log) => log.info(circular(), 'x')],
  ['a message', (log) => log.info(`calling with Bearer ${CANARY}`)],
  ['a message with a named secret', (log) => log.info('client_secret=short-one-cAnaRy7Kq2')],
  ['a message with a database URL', (log) => log.info(`postgres://u:${CANARY}@localhost/db failed`)],
  ['a placeholder in a message', (log) => log.info('value %s', CANARY)],
  ['a placeholder with an object', (log) => log.info({ count: 1 }, 'value %o', { token: CANARY })],
  ['a msg key', (log) => log.info({ msg: CANARY })],
  ['properties of an error', (log) => log.error(new ApiError('it failed'))],
  ['properties of an error under err', (log) => log.error({ err: new ApiError('it failed') }, 'x')],
  ['the message of an error', (log) => log.error(new Error(`bad key ${CANARY}`))],
  [
    'a JSON body in the message of an error',
    (log) => log.error({ err: new Error('got {"text":"cAnaRy hi"}') }),
  ],
  ['a quoted text in an error', (log) => log.error({ err: new Error('bad value "Hello cAnaRy"') })],
  ['later lines of an error', (log) => log.error({ err: new Error('first\nparams: cAnaRy') })],
  ['the cause of an error', (log) => log.error({ err: new Error('x', { cause: new ApiError(CANARY) }) })],
  ['an aggregate of errors', (log) => log.error({ err: new AggregateError([new ApiError(CANARY)], 'all') })],
  ['a thrown string', (log) => log.error({ err: `token=${CANARY}` })],
  ['a thrown object', (log) => log.error({ err: { message: `Bearer ${CANARY}`, token: CANARY } })],
  ['a hostile code', (log) => log.error({ err: Object.assign(new Error('x'), { code: `a ${CANARY}` }) })],
  ['child bindings', (log) => log.child({ token: CANARY, reason: { a: CANARY } }).info('x')],
  ['bindings of a grandchild', (log) => log.child({ component: 'a' }).child({ apiKey: CANARY }).info('x')],
  ['fields of a child line', (log) => log.child({ component: 'a' }).warn({ secret: CANARY }, 'x')],
];

describe('the logger', () => {
  it('outlives a full disk, also with the last line of a process', ({ skip }) => {
    skip(!existsSync('/dev/full'), 'this system has no full device');
    const fd = openSync('/dev/full', 'w');
    const logger = createLogger({ level: 'info', name: 'test', destination: writeTo(fd) });
    logger.info('no space left');
    logger.fatal('the last line');
    closeSync(fd);
  });

  it('keeps what a slow reader has not taken for the next line, and does not wait for it', () => {
    let room = 4;
    let taken = '';
    const { write } = writeTo(1, (_fd, bytes) => {
      if (room === 0) throw Object.assign(new Error('the pipe is full'), { code: 'EAGAIN' });
      const part = bytes.subarray(0, room);
      room -= part.length;
      taken += part.toString();
      return part.length;
    });
    write('first\n');
    expect(taken).toBe('firs');
    room = 100;
    write('second\n');
    expect(taken).toBe('first\nsecond\n');
  });

  it.each(SHAPES)('leaks nothing through %s', (_shape, write) => {
    const { logger, text } = capture();
    write(logger);
    logger.info('end');

    expect(text()).toContain('end');
    expect(text()).not.toMatch(/cAnaRy/);
  });

  it('does not repeat the input of JSON.parse', () => {
    const { logger, text } = capture();
    try {
      JSON.parse('cAnaRy and more');
      expect.unreachable();
    } catch (err) {
      logger.error({ err }, 'not parsed');
    }
    expect(text()).toContain('SyntaxError');
    expect(text()).not.toContain('cAn');
  });

  it('does not repeat the parameters of a failed query', () => {
    const { logger, last, text } = capture();
    const cause = Object.assign(new Error('invalid input syntax for type integer: "cananry"'), {
      code: '22P02',
    });
    logger.error({ err: new Error("Failed query: select 'cananry'\nparams: cananry", { cause }) }, 'x');

    expect(text()).not.toContain('cananry');
    expect(last().err).toMatchObject({
      message: 'the query failed',
      cause: { code: '22P02', message: 'invalid input syntax for type integer: "…"' },
    });
  });

  it('writes allow-listed fields', () => {
    const { logger, last } = capture();
    logger.child({ component: 'outbox' }).warn(
      {
        connectionId: 'cmabcdefghijklmnopqrstuv1',
        outboundId: '0190d2f4-6a1b-7c3d-8e4f-5a6b7c8d9e0f',
        count: 3,
        seq: 12n,
        joined: true,
        url: 'https://example.com:8443/api/v1/messages?x=1',
        messageId: null,
        reason: undefined,
        fields: ['createdAt', 'label'],
        err: Object.assign(new TypeError('relation "inbox" does not exist'), { code: '42P01' }),
      },
      'a line',
    );

    expect(last()).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      name: 'test',
      component: 'outbox',
      connectionId: 'cmabcdefghijklmnopqrstuv1',
      outboundId: '0190d2f4-6a1b-7c3d-8e4f-5a6b7c8d9e0f',
      count: 3,
      seq: '12',
      joined: true,
      url: 'https://example.com:8443/api/v1/messages',
      messageId: null,
      fields: ['createdAt', 'label'],
      err: { type: 'TypeError', code: '42P01', message: 'relation "inbox" does not exist' },
      msg: 'a line',
    });
  });

  it('counts the fields that it omitted', () => {
    const { logger, last } = capture();
    logger.info({ body: 1, headers: 2, count: 3 }, 'x');
    expect(last()).toMatchObject({ count: 3, hiddenFields: 2 });
  });

  it('keeps the frame of a message: limited length, one line, no secrets, unchanged file paths', () => {
    const { logger, last } = capture();
    logger.info(`data in /var/lib/messaging-connector/4f2a/postgres of 2026-01-15T12:00:00.000Z`);
    expect(last().msg).toBe('data in /var/lib/messaging-connector/4f2a/postgres of 2026-01-15T12:00:00.000Z');

    logger.info(`${'a b '.repeat(1_000)}`);
    expect(String(last().msg).length).toBeLessThan(520);

    logger.info('one\ntwo');
    expect(last().msg).toBe('one');
  });

  it('respects its level', () => {
    const { lines, logger } = collectLog('warn');
    logger.info('quiet');
    logger.child({}).warn('loud');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('loud');
  });
});
