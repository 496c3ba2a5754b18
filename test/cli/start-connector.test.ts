import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { serveUntilStopped } from '../../src/commands/serve-until-stopped.ts';
import { type ConnectorLogger, startConnector } from '../../src/commands/start-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { ConfigurationError } from '../../src/runtime/config/configuration-error.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const SECRETS = {
  CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
  WEBHOOK_SECRET: randomBytes(24).toString('base64url'),
};
const handlers = { onChange: () => undefined };

/** Keeps what it is told. */
class Lines implements ConnectorLogger {
  readonly kept: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  debug = this.#keep('debug');
  info = this.#keep('info');
  warn = this.#keep('warn');
  error = this.#keep('error');

  #keep(level: string) {
    return (fields: object, message: string): void => void this.kept.push({ level, fields, message });
  }
}

describe('startConnector with invalid arguments', () => {
  it('refuses the same settings as the command, and names them', async () => {
    const wrong: unknown = await startConnector({ env: { CONNECTOR_PORT: 'any' } }).catch((error) => error);
    expect(wrong).toBeInstanceOf(ConfigurationError);
    expect(wrong).toMatchObject({ code: 'configuration', problems: [{ setting: 'CONNECTOR_PORT' }] });
    const missing = startConnector({ env: {} });
    await expect(missing).rejects.toThrow(/CONNECTOR_API_TOKEN.*\n.*CONNECTOR_SEALING_KEYS/);
  });

  it('refuses handlers in code if CONNECTOR_HANDLERS is set as well', async () => {
    const env = {
      ...SECRETS,
      DATABASE_URL: 'postgres://127.0.0.1/none',
      CONNECTOR_HANDLERS: './handlers.js',
    };
    await expect(startConnector({ env, handlers })).rejects.toThrow('remove one of the two');
  });

  it('reports why it could not start, and leaves nothing running', async () => {
    const env = { ...SECRETS, DATABASE_URL: 'postgres://nobody:secret-of-nobody@127.0.0.1:1/none' };
    const logger = new Lines();
    const failed: unknown = await startConnector({ env, logger }).catch((error) => error);
    expect(failed).toBeInstanceOf(Error);
    expect(`${failed} ${JSON.stringify(logger.kept)}`).not.toContain('secret-of-nobody');
  });
});

describe('startConnector', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('runs in this process, uses the given logger, and stops when asked', async () => {
    const logger = new Lines();
    const listeners = process.listenerCount('SIGTERM');
    const env = { ...SECRETS, DATABASE_URL: database.url, CONNECTOR_PORT: '0', CONECTOR_HOST: '::' };
    const connector = await startConnector({ env, handlers, logger });
    expect((await fetch(`${connector.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${connector.url}/v1/messages`)).status).toBe(401);
    expect(process.listenerCount('SIGTERM')).toBe(listeners);

    const stopped = connector.stop();
    await connector.stop();
    await stopped;
    await expect(fetch(`${connector.url}/readyz`)).rejects.toThrow('fetch failed');

    expect(logger.kept).toContainEqual({
      level: 'warn',
      fields: { name: expect.stringMatching(/^connector-/) },
      message: 'The variable CONECTOR_HOST is not a setting. Did you mean CONNECTOR_HOST?',
    });
    expect(logger.kept).toContainEqual({
      level: 'info',
      fields: { name: expect.stringMatching(/^connector-/), url: connector.url, role: 'all' },
      message: 'connector ready',
    });
    expect(logger.kept.filter(({ level }) => level === 'error')).toEqual([]);
    expect(logger.kept.filter(({ message }) => message.includes('are not called'))).toEqual([]);
    const told = JSON.stringify(logger.kept);
    for (const secret of Object.values(SECRETS)) expect(told).not.toContain(secret);
  });

  it('reports that a process with the role web calls no handlers', async () => {
    const logger = new Lines();
    const env = { ...SECRETS, DATABASE_URL: database.url, CONNECTOR_PORT: '0', CONNECTOR_ROLE: 'web' };
    const connector = await startConnector({ env, handlers, logger });
    await connector.stop();
    expect(logger.kept).toContainEqual({
      level: 'info',
      fields: { name: expect.stringMatching(/^connector-/) },
      message: expect.stringContaining('CONNECTOR_ROLE is web, so a worker must call them'),
    });
  });
});

it('a command that could not start closes what it has opened', async () => {
  vi.spyOn(process, 'on').mockReturnValue(process);
  onTestFinished(() => void vi.restoreAllMocks());
  const closed = vi.fn();
  const options = { level: 'silent', name: 'test', clock: systemClock, shutdownMs: 1_000 } as const;
  const starting = serveUntilStopped({ ...options, typos: [] }, async ({ lifecycle }) => {
    lifecycle.onClose('database', closed);
    throw new Error('The port is in use.');
  });
  await expect(starting).rejects.toThrow('The port is in use.');
  expect(closed).toHaveBeenCalledOnce();
});
