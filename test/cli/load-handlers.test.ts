import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectorOptions } from '../../src/commands/connector-options.ts';
import { loadHandlers } from '../../src/commands/load-handlers.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { makeFolder } from '../support/make-folder.ts';

const folder = makeFolder(afterAll);

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const load = (name: string, text: string) => loadHandlers(write(name, text), {});
const context = { key: 'k', attempt: 1, signal: new AbortController().signal };

describe('the module of CONNECTOR_HANDLERS', () => {
  it.each([
    ['named.mjs', 'export const attempts = 3; export function onChange(change) { change.seen = "named"; }'],
    ['whole.mjs', 'export default { attempts: 3, onChange(change) { change.seen = "whole"; } };'],
    ['common.cjs', 'exports.attempts = 3; exports.onChange = (change) => { change.seen = "common"; };'],
    [
      'typed.mts',
      'export const attempts: number = 3; export function onChange(change: any) { change.seen = "typed"; }',
    ],
  ])('is accepted in each form: %s', async (name, text) => {
    const handlers = await load(name, text);
    expect(handlers?.attempts).toBe(3);
    const change = {};
    await handlers?.onChange(change as never, context);
    expect(change).toEqual({ seen: name.split('.')[0] });
  });

  it.each([
    [
      'no function',
      'none.mjs',
      'export const onchange = () => {};',
      /none\.mjs must have a function onChange/,
    ],
    ['another kind', 'text.mjs', 'export const onChange = "x";', /but has a value of type string; write:/],
    [
      'an error',
      'throws.mjs',
      '\nthrow new TypeError("no database");',
      /could not be loaded: TypeError: no database \(.*throws\.mjs:2\)/,
    ],
    ['a missing import', 'import.mjs', 'import "./nowhere.mjs";', /could not be loaded: .*nowhere\.mjs/],
    [
      'bad attempts',
      'attempts.mjs',
      'export const attempts = 0; export function onChange() {}',
      /has invalid attempts: must be at least 1/,
    ],
  ])('is refused, with its name, for %s', async (_, name, text, message) => {
    await expect(load(name, text)).rejects.toThrow(message);
    await expect(load(name, text)).rejects.toThrow(/^A setting is invalid:\n {2}CONNECTOR_HANDLERS: /);
  });

  it('is refused if the file does not exist', async () => {
    await expect(loadHandlers(join(folder, 'nowhere.mjs'), {})).rejects.toThrow('no module at');
    await expect(loadHandlers(folder, {})).rejects.toThrow('no module at');
    expect(await loadHandlers(undefined, {})).toBeUndefined();
  });

  it('sees its own variables of .env in process.env, unless the process has set them, and none of our settings', async () => {
    const text = 'export const seen = { ...process.env }; export function onChange() { return seen; }';
    process.env['CRM_OF_PROCESS'] = 'process';
    const found = {
      CRM_OF_FILE: 'file',
      CRM_OF_PROCESS: 'file',
      CONNECTOR_API_TOKENS: 'ours',
      WEBHOOK_SECRET_FILE: 'ours',
    };
    try {
      const handlers = await loadHandlers(write('environment.mjs', text), found);
      const seen: unknown = handlers?.onChange({} as never, context);
      expect(seen).toMatchObject({ CRM_OF_FILE: 'file', CRM_OF_PROCESS: 'process' });
      expect(Object.values(seen as object)).not.toContain('ours');
    } finally {
      for (const name of Object.keys(found)) delete process.env[name];
    }
  });

  const env = {
    DATABASE_URL: 'postgres://127.0.0.1/messaging',
    CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
    CONNECTOR_SEALING_KEYS: generateSealingKey(),
    CONNECTOR_HANDLERS: write('broken.mjs', 'export function {'),
  };

  it('is not loaded in the role web', () => {
    const read = (role: string) => connectorOptions({ ...env, CONNECTOR_ROLE: role }, () => undefined);
    expect(read('web').handlersModule).toBeUndefined();
    expect(read('worker').handlersModule).toBe(env.CONNECTOR_HANDLERS);
    expect(read('all').handlersModule).toBe(env.CONNECTOR_HANDLERS);
  });
});
