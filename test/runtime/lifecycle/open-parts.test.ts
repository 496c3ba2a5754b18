import { describe, expect, it } from 'vitest';
import { openParts } from '../../../src/runtime/lifecycle/open-parts.ts';

describe('what a start has opened', () => {
  it('is closed in reverse order if the start fails, with the error of the start', async () => {
    const closed: string[] = [];
    const starting = openParts(async (opened) => {
      for (const part of ['database', 'notifier', 'server']) {
        opened.add(async () => {
          closed.push(part);
          if (part === 'notifier') throw new Error('cannot be closed');
        });
      }
      throw new Error('the port is in use');
    });
    await expect(starting).rejects.toThrow('the port is in use');
    expect(closed).toEqual(['server', 'notifier', 'database']);
  });

  it('stays open after a start that succeeds, until it is closed, once', async () => {
    const closed: string[] = [];
    const close = await openParts(async (opened) => {
      opened.add(async () => void closed.push('database'));
      return opened.close;
    });
    expect(closed).toEqual([]);
    await close();
    await close();
    expect(closed).toEqual(['database']);
  });

  it('is closed completely even if a part cannot be closed, and the first failure is thrown', async () => {
    const closed: string[] = [];
    const close = await openParts(async (opened) => {
      for (const part of ['database', 'notifier', 'server']) {
        opened.add(async () => {
          closed.push(part);
          if (part !== 'database') throw new Error(`${part} cannot be closed`);
        });
      }
      return opened.close;
    });
    await expect(close()).rejects.toThrow('server cannot be closed');
    expect(closed).toEqual(['server', 'notifier', 'database']);
  });
});
