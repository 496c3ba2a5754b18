import { describe, expect, test } from 'vitest';
import { ofFile } from '../../support/of-file.ts';
import { startTestPlatform } from '../../support/platform.ts';

describe('contacts', () => {
  const service = ofFile(startTestPlatform);

  test('a number without settings is on the network and has the default behavior', async () => {
    expect(await service.platform.contacts.get('4916000000001')).toMatchObject({
      onNetwork: true,
      deliverAfterMs: expect.any(Number),
      readAfterMs: expect.any(Number),
      failAfterMs: null,
      autoReply: null,
    });
  });

  test('put changes only the given fields, and null means never', async () => {
    const { contacts } = service.platform;
    await contacts.put('4916000000002', { readAfterMs: null, autoReply: 'hi' });
    const changed = await contacts.put('4916000000002', { deliverAfterMs: 7 });
    expect(changed).toMatchObject({ onNetwork: true, deliverAfterMs: 7, readAfterMs: null, autoReply: 'hi' });
    expect(await contacts.get('4916000000002')).toEqual(changed);
  });

  test('a phone without messages lists none', async () => {
    expect(await service.platform.contacts.received('4916000000003')).toEqual([]);
  });
});
