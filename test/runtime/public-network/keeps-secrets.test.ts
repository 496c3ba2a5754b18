import { expect, it } from 'vitest';
import { connectorOptions } from '../../../src/commands/connector-options.ts';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import { ConfigurationError } from '../../../src/runtime/config/configuration-error.ts';
import { keepsSecrets } from '../../../src/runtime/public-network/keeps-secrets.ts';
import { ManualClock } from '../../support/manual-clock.ts';

it.each([
  'https://service.example/api/v1',
  'https://10.0.0.1/api/v1',
  'http://127.0.0.1:4010/api/v1',
  'http://127.8.9.10/api/v1',
  'http://localhost:4010/api/v1',
  'http://[::1]:4010/api/v1',
])('a secret may be sent to %s', (address) => {
  expect(keepsSecrets(address)).toBe(true);
});

it.each([
  'http://service.example/api/v1',
  'http://10.0.0.1/api/v1',
  'http://localhost.example/api/v1',
  'http://127.0.0.1.example/api/v1',
  'http://[::2]/api/v1',
  'http://0.0.0.0/api/v1',
  'not an address',
])('no secret may be sent to %s', (address) => {
  expect(keepsSecrets(address)).toBe(false);
});

it.each(['SERVICE_BASE_URL', 'SERVICE_AUTH_URL', 'CONNECTOR_PUBLIC_URL'])(
  'a plain http address of another machine in %s is rejected, naming the setting',
  (setting) => {
    const read = () => connectorOptions({ [setting]: 'http://service.internal/api/v1' }, () => undefined);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(new RegExp(`${setting}: .*http:// is allowed only on this machine`));
  },
);

it('no call carries a credential over plain http to another machine, whoever stored the address', async () => {
  const tokens: string[] = [];
  const client = createServiceClient({
    baseUrl: 'http://service.internal/api/v1',
    token() {
      tokens.push('asked');
      return 'secret';
    },
    clock: new ManualClock(),
  });
  await expect(client.readAccount()).rejects.toMatchObject({ code: 'insecure', mayHaveActed: false });
  expect(tokens).toEqual([]);
});
