import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sandboxInfo } from '../../src/contract/sandbox/info.ts';
import type { SendMessageAnswer } from '../../src/contract/service/messages.ts';
import { createTestDatabase } from '../support/database.ts';
import { callJson } from '../support/loop-client.ts';
import { proves } from '../support/proves.ts';
import { spawnCli } from '../support/spawn-command.ts';

const MEBIBYTE = 1024 * 1024;
const FILES = 30;
const PHONE = '4915112340000';

/** The peak memory of a process, in MB. */
function peakMemory(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** On a busy machine, the service aborts an upload that is too slow. The client then repeats it. */
async function sendPatiently<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      const isSlow = error instanceof Error && error.message.includes('was sent too slowly');
      if (!isSlow || tries === 5) throw error;
    }
  }
}

it('the service takes 30 files of 16 MB at once in less than 1 GB of memory', async () => {
  proves('limits.media');
  const database = await createTestDatabase({ platform: true });
  const command = spawnCli('platform', ['--json', '--port-base', '0'], {
    PLATFORM_DATABASE_URL: database.url,
  });
  try {
    const { baseUrl, apiKey, sandboxUrl } = sandboxInfo.parse(JSON.parse(await command.said(/./)));
    const { connections } = await callJson<{ connections: { id: string }[] }>(`${baseUrl}/connections`, {
      token: apiKey,
    });
    // Postgres compresses it, so that the disk does not affect the result.
    const file = Buffer.alloc(12 * MEBIBYTE, 'some words, again and again; ');
    const media = {
      filename: 'large.bin',
      mimetype: 'application/octet-stream',
      data: file.toString('base64'),
    };
    expect(media.data).toHaveLength(16 * MEBIBYTE);
    const body = Buffer.from(JSON.stringify({ connectionId: connections[0]?.id, to: PHONE, media }));
    const answers = await Promise.all(
      Array.from({ length: FILES }, () =>
        sendPatiently(() =>
          callJson<SendMessageAnswer>(`${baseUrl}/messages`, { method: 'POST', token: apiKey, body }),
        ),
      ),
    );
    const { entries } = await callJson<{ entries: { media: object }[] }>(
      `${sandboxUrl}/sandbox/v1/contacts/${PHONE}/messages?limit=100`,
    );

    expect(new Set(answers.map(({ messageId }) => messageId)).size).toBe(FILES);
    expect(entries).toHaveLength(FILES);
    const sha256 = createHash('sha256').update(file).digest('hex');
    for (const entry of entries) expect(entry.media).toMatchObject({ bytes: file.length, sha256 });
    expect(peakMemory(command.pid)).toBeLessThan(1024);
  } finally {
    await command.kill();
    await database.drop();
  }
});
