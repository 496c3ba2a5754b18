import { describe, expect, it, vi } from 'vitest';
import { readBlocks, readProjectFile } from '../support/markdown.ts';

const PAGE = readProjectFile('docs/day-one.md');

describe('docs/day-one.md', () => {
  it('quotes the log of an import as it is written', () => {
    const source = readProjectFile('src/connector/reconcile/poll-cycle.ts');
    for (const line of [
      'the first poll of an account: it stores old messages and marks them as historic',
      'old messages were imported',
    ]) {
      expect(PAGE).toContain(`\`${line}\``);
      expect(source).toContain(`'${line}'`);
    }
  });

  it('shows a handler that notifies only of new messages', async () => {
    const code = readBlocks(PAGE).find(({ language }) => language === 'js')?.text ?? '';
    const { onChange } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const log = vi.spyOn(console, 'log').mockReturnValue();
    const message = (createdAt: number, direction = 'incoming') =>
      onChange({
        type: 'message.created',
        data: { direction, text: 'Hello', createdAt: new Date(createdAt).toISOString() },
      });
    await message(Date.now() - 60_000);
    await message(Date.now() - 86_400_000);
    await message(Date.now(), 'outgoing');
    expect(log.mock.calls).toEqual([
      ['notify an agent', 'Hello'],
      ['only store it', 'Hello'],
    ]);
    log.mockRestore();
  });
});
