import { expect, it } from 'vitest';
import { ensureConnectorApp } from '../../src/sandbox/connector-app.ts';
import { ofFile } from '../support/of-file.ts';
import { startTestPlatform } from '../support/platform.ts';

const service = ofFile(() => startTestPlatform());

it('the app of the connector stays the same over restarts, until its redirect address changes', async () => {
  const idOf = async (port: number): Promise<string> => {
    const redirectUri = `http://127.0.0.1:${port}/oauth/callback`;
    const webhookUrl = (clientId: string) => `https://hooks.example.com/${clientId}`;
    return (await ensureConnectorApp(service, { redirectUri, webhookUrl })).clientId;
  };
  const first = await idOf(4020);
  expect(await idOf(4020)).toBe(first);
  expect(await idOf(4120)).not.toBe(first);
});
