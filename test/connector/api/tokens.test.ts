import { beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import { CONNECTOR_ENDPOINTS } from '../../../src/contract/connector/endpoints.ts';
import { RIGHTS } from '../../../src/contract/connector/rights.ts';
import { logTo } from '../../support/log-to.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';

const TOKENS = {
  read: 'token-that-may-read-01',
  write: 'token-that-may-write-01',
  operate: 'token-that-may-operate-01',
  metrics: 'token-that-may-see-metrics-01',
} as const;
const NEXT = 'token-that-may-read-02';

interface Line {
  readonly msg: string;
  readonly event?: string;
  readonly [key: string]: unknown;
}

let lines: Line[];
let linesAtStart: readonly Line[];

const apiTokens: NonNullable<ConnectorOptions['apiTokens']> = [
  ...RIGHTS.map((right) => ({ name: `may-${right}`, rights: [right], token: TOKENS[right] })),
  { name: 'may-read', rights: ['read'], token: NEXT },
];

function collect() {
  lines = [];
  return logTo('info', (line) => lines.push(JSON.parse(line) as Line));
}

/** What was counted of the minute before does not matter any more. */
async function forget(): Promise<void> {
  await world.clock.advance(60_000);
  lines.length = 0;
}

const { world, running } = connectorOfFile(() => ({ apiTokens, logger: collect() }));
beforeAll(() => {
  linesAtStart = [...lines];
});

const guarded = Object.values(CONNECTOR_ENDPOINTS).flatMap((endpoint) =>
  'right' in endpoint
    ? [
        {
          call: `${endpoint.method} ${endpoint.path}`,
          ...endpoint,
          path: endpoint.path.replace('{id}', 'nobody'),
        },
      ]
    : [],
);

describe('the rights of a token', () => {
  it('are logged at the start with their name and without the token', () => {
    expect(linesAtStart.filter(({ event }) => event === 'tokens.loaded')).toMatchObject([
      {
        msg: 'audit',
        who: 'settings',
        result: 'ok',
        what: [
          'CONNECTOR_API_TOKEN read+write+operate+metrics',
          'may-read read',
          'may-write write',
          'may-operate operate',
          'may-metrics metrics',
          'may-read read',
        ],
      },
    ]);
    for (const token of [TOKEN, NEXT, ...Object.values(TOKENS)]) {
      expect(JSON.stringify(linesAtStart)).not.toContain(token);
    }
  });

  it.each(guarded)('$call needs $right and no other', async ({ call, method, path, right }) => {
    for (const other of RIGHTS.filter((each) => each !== right)) {
      const { status, body } = await running.ask(method, path, { token: TOKENS[other] });
      expect({ status, body }).toEqual({
        status: 403,
        body: {
          error: 'missing_right',
          message: `The token "may-${other}" lacks the right "${right}", which ${call} requires.`,
        },
      });
    }
  });

  it.each(guarded.filter(({ path }) => !path.includes('stream')))(
    '$call goes through with $right',
    async ({ method, path, right }) => {
      const { status } = await running.ask(method, path, { token: TOKENS[right] });
      expect([401, 403]).not.toContain(status);
    },
  );

  it.each(['/V1/messages', '/v1/messages/', '/v1//messages', '/%761/messages', '/METRICS', '/metrics/'])(
    'apply to %s, however it is written',
    async (path) => {
      const refused = await running.ask('GET', path, { token: null });
      expect([401, 404]).toContain(refused.status);
      const lacking = await running.ask('GET', path, { token: TOKENS.operate });
      expect([403, 404]).toContain(lacking.status);
    },
  );

  it('apply to HEAD as to GET', async () => {
    const head = (token: string) =>
      fetch(`${running.url}/v1/messages`, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } });
    expect((await head(TOKENS.read)).status).toBe(200);
    expect((await head(TOKENS.metrics)).status).toBe(403);
  });

  it('are documented for each operation', async () => {
    const { body } = await running.ask('GET', '/v1/openapi.json', { token: TOKENS.metrics });
    expect(body).toMatchObject({
      paths: {
        '/v1/messages': {
          get: { security: [{ token: ['read'] }] },
          post: { security: [{ token: ['write'] }] },
        },
        '/v1/webhook/rotate': { post: { security: [{ token: ['operate'] }] } },
        '/metrics': { get: { security: [{ token: ['metrics'] }] } },
        '/healthz': { get: { security: [] } },
      },
    });
  });
});

describe('several tokens', () => {
  it('are valid at the same time, so that one can replace another', async () => {
    for (const token of [TOKEN, TOKENS.read, NEXT]) {
      expect((await running.ask('GET', '/v1/messages', { token })).status).toBe(200);
    }
  });

  it('protect the metrics of a worker as well', async () => {
    const worker = await world.start({ role: 'worker', apiToken: undefined, apiTokens });
    const status = async (token: string | null) => (await worker.ask('GET', '/metrics', { token })).status;
    expect([await status(null), await status(TOKEN), await status(TOKENS.read)]).toEqual([401, 401, 403]);
    expect(await status(TOKENS.metrics)).toBe(200);
    expect((await worker.ask('GET', '/healthz', { token: null })).status).toBe(200);
    await worker.stop();
  });
});

describe('wrong tokens', () => {
  it('lock nobody out: after a hundred of them, a valid token from the same address is answered', async () => {
    await forget();
    const guess = () => running.ask('GET', '/v1/messages', { token: 'another-guess' });
    for (let index = 0; index < 100; index += 1) {
      const { status, headers } = await guess();
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
    expect((await running.ask('GET', '/v1/messages', { token: TOKENS.read })).status).toBe(200);
  });
});
