import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../packages/certify/src/receiver/profile.ts';
import { expectConformity } from '../../packages/certify/test/expect-conformity.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const SECRET = 'secret-of-an-example';
const FOLDER = join(ROOT, 'examples/receivers');

function isInstalled(command: string, word: string): boolean {
  try {
    execFileSync(command, [word], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const EXAMPLES: readonly [file: string, command: string, words: readonly string[], version: string][] = [
  ['express.ts', 'node', [], '--version'],
  ['fastify.ts', 'node', [], '--version'],
  ['receiver.py', 'python3', [], '--version'],
  ['receiver.go', 'go', ['run'], 'version'],
];

describe('the receiver examples', () => {
  const folder = makeFolder(afterAll);

  for (const [file, command, words, version] of EXAMPLES) {
    const isThere = isInstalled(command, version);
    it.skipIf(!isThere)(
      `${file} passes level W${isThere ? '' : `: ${command} is not installed`}`,
      async () => {
        const inbox = join(folder, `${file}.log`);
        // A crash has cut it off.
        writeFileSync(inbox, '1767225600000 eyJldmVudCI6');
        const receiver = spawnCommand(command, [...words, join(FOLDER, file)], {
          cwd: folder,
          env: { SIGNING_SECRET: SECRET, PORT: '0', INBOX: inbox },
        });
        try {
          const line = await receiver.said(/receiving at /);
          const url = line.replace('receiving at ', '');
          const inputs = { url, secret: SECRET, profile: PROFILES.messaging };
          expect(await expectConformity(inputs, ['W'])).toBe(43);
          const [cutOff, ...lines] = readFileSync(inbox, 'utf8').split('\n').filter(Boolean);
          expect(cutOff).toBe('1767225600000 eyJldmVudCI6');
          expect(lines.length).toBeGreaterThan(70);
          expect(lines.filter((each) => !/^\d{13} [\w+/]*=*$/.test(each))).toEqual([]);
        } finally {
          await receiver.kill();
        }
      },
    );

    it(`${file} has at most 60 lines`, () => {
      expect(readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    });
  }
});
