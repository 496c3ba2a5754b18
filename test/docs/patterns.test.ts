import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { OLD_NODES } from '../support/old-node.ts';
import { ROOT } from '../support/root.ts';
import { type Ended, spawnCommand } from '../support/spawn-command.ts';

const PATTERNS = readdirSync(join(ROOT, 'src/patterns')).map((file) => file.replace(/\.ts$/, ''));
const PAGE = readProjectFile('docs/patterns.md');
const SECTIONS = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), readBlocks(text)] as const),
);

/** What a team with strict habits sets. The types of Node are all that it has. */
const STRICT = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'out',
  },
  include: ['*.ts'],
};

/** A pattern alone in a folder, with the two programs of the page that are about it. */
interface Lifted {
  readonly compiled: Ended;
  /** What the mistake and the right use print. */
  readonly printed: readonly Ended[];
}

const folder = mkdtempSync(join(tmpdir(), 'patterns-'));
const lifted = new Map<string, Lifted>();

async function lift(pattern: string): Promise<Lifted> {
  const own = join(folder, pattern);
  mkdirSync(own);
  copyFileSync(join(ROOT, `src/patterns/${pattern}.ts`), join(own, `${pattern}.ts`));
  const [mistake, , use, , ...further] = SECTIONS.get(pattern) ?? [];
  // A program without an import would be a script, in which nothing can be awaited.
  writeFileSync(join(own, 'mistake.ts'), `${mistake?.text}\nexport {};\n`);
  writeFileSync(join(own, 'use.ts'), `${use?.text}\n`);
  for (const [index, block] of further.entries()) {
    writeFileSync(join(own, `further-${index}.ts`), `${block.text}\n`);
  }
  writeFileSync(join(own, 'tsconfig.json'), JSON.stringify(STRICT));
  writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module' }));
  const compiled = await spawnCommand('tsc', ['-p', '.'], { cwd: own }).ended;
  const programs = ['out/mistake.js', 'out/use.js'];
  const printed = await Promise.all(
    programs.map((program) => spawnCommand('node', [program], { cwd: own }).ended),
  );
  return { compiled, printed };
}

beforeAll(async () => {
  // One after the other: together they would take the whole machine from the tests beside them.
  for (const pattern of PATTERNS) lifted.set(pattern, await lift(pattern));
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('docs/patterns.md', () => {
  it('has a section for each pattern: the mistake, the right use, and what each prints', () => {
    expect([...SECTIONS.keys()].sort()).toEqual([...PATTERNS].sort());
    for (const [name, blocks] of SECTIONS) {
      expect({ name, languages: blocks.map(({ language }) => language) }).toEqual({
        name,
        // What follows is compiled and not run.
        languages: ['ts', 'text', 'ts', 'text', ...blocks.slice(4).map(() => 'ts')],
      });
    }
  });

  it.each(PATTERNS)('%s compiles under strict rules, alone in a folder', (pattern) => {
    expect(lifted.get(pattern)?.compiled).toEqual({ code: 0, stdout: '', stderr: '' });
    const use = SECTIONS.get(pattern)?.[2]?.text;
    expect(use).toContain(`from './${pattern}.js'`);
  });

  it.each([
    ['as npx tsc --init makes it', ['--init']],
    ['with the settings that TypeScript 5 began with', null],
  ])('all compile in a project %s, with what the page says', async (_what, init) => {
    const own = mkdtempSync(join(folder, 'stock-'));
    for (const pattern of PATTERNS) {
      copyFileSync(join(ROOT, `src/patterns/${pattern}.ts`), join(own, `${pattern}.ts`));
      copyFileSync(join(folder, pattern, 'use.ts'), join(own, `use-${pattern}.ts`));
    }
    writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module' }));
    if (init === null) {
      const compilerOptions = {
        target: 'es2022',
        module: 'node16',
        esModuleInterop: true,
        forceConsistentCasingInFileNames: true,
        strict: true,
        skipLibCheck: true,
      };
      writeFileSync(join(own, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    } else expect(await spawnCommand('tsc', init, { cwd: own }).ended).toMatchObject({ code: 0 });
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
    const compiled = await spawnCommand('tsc', ['-p', '.', '--outDir', 'out', ...types], { cwd: own }).ended;
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each(PATTERNS)('%s: the mistake goes wrong as shown', (pattern) => {
    const [mistake, told] = SECTIONS.get(pattern) ?? [];
    expect(mistake?.text).not.toContain(`./${pattern}.ts`);
    expect(lifted.get(pattern)?.printed[0]).toEqual({ code: 0, stdout: `${told?.text}\n`, stderr: '' });
  });

  it.each(PATTERNS)('%s: the right use prints what is shown', (pattern) => {
    const told = SECTIONS.get(pattern)?.[3];
    expect(lifted.get(pattern)?.printed[1]).toEqual({ code: 0, stdout: `${told?.text}\n`, stderr: '' });
  });

  it('promises Node 20: what is shown runs on each old Node of this machine, and so do the vectors', async () => {
    expect(PAGE).toContain('run on Node 20');
    expect(readProjectFile('README.md')).toContain('runs on Node 20 or newer');
    const calls = [...signatureCalls(), ...statusCalls(), ...sendCalls()];
    expect(calls.length).toBeGreaterThan(190);
    writeFileSync(join(folder, 'call.mjs'), CALL);
    writeFileSync(join(folder, 'calls.json'), JSON.stringify(calls.map(({ call }) => call)));
    for (const { node, env } of OLD_NODES) {
      for (const pattern of PATTERNS) {
        const use = await spawnCommand(node, ['out/use.js'], { cwd: join(folder, pattern), env }).ended;
        expect(use).toEqual({ code: 0, stdout: `${SECTIONS.get(pattern)?.[3]?.text}\n`, stderr: '' });
      }
      const called = await spawnCommand(node, ['call.mjs'], { cwd: folder, env }).ended;
      expect({ code: called.code, stderr: called.stderr }).toEqual({ code: 0, stderr: '' });
      const answers: readonly unknown[] = JSON.parse(called.stdout);
      for (const [index, { expected }] of calls.entries()) expect(answers[index]).toMatchObject(expected);
      expect(answers).toHaveLength(calls.length);
    }
  });
});

/** Calls functions of the compiled patterns. Plain, since it runs on an old Node. */
const CALL = `
import { readFileSync } from 'node:fs';
const bytes = (_, value) => (value?.base64 === undefined ? value : Buffer.from(value.base64, 'base64'));
const answers = [];
for (const [pattern, name, ...words] of JSON.parse(readFileSync('calls.json', 'utf8'), bytes)) {
  const pieces = await import('./' + pattern + '/out/' + pattern + '.js');
  answers.push(pieces[name](...words));
}
process.stdout.write(JSON.stringify(answers));
`;

interface VectorCall {
  /** Pattern, function, and what it is given. */
  readonly call: readonly unknown[];
  readonly expected: object;
}

// biome-ignore lint/suspicious/noExplicitAny: vectors are read by field
const readVectors = (name: string): any => JSON.parse(readProjectFile(`test/vectors/${name}.json`));

function signatureCalls(): VectorCall[] {
  return readVectors('signature').cases.map((row: Record<string, string>) => {
    const { timestamp_header, signature_header, body_utf8 = '', body_base64, secret, now_ms, expect } = row;
    const base64 = body_base64 ?? Buffer.from(body_utf8).toString('base64');
    const request = { timestampHeader: timestamp_header, signatureHeader: signature_header, now: now_ms };
    return {
      call: ['verify-signature', 'verifySignature', { ...request, body: { base64 }, secrets: [secret] }],
      expected: expect === 'valid' ? { valid: true } : { valid: false, reason: expect },
    };
  });
}

function statusCalls(): VectorCall[] {
  const { cases, unknown } = readVectors('message-status');
  return [...cases, ...unknown].map(({ current, update, result, changed, conflict }) => ({
    call: ['message-status', 'applyStatus', current, update],
    expected: { status: result, changed, conflict },
  }));
}

function sendCalls(): VectorCall[] {
  return readVectors('send-policy').cases.map(
    // biome-ignore lint/suspicious/noExplicitAny: vectors are read by field
    ({ outcome, carries, attempts, since_first_ms: now, in_doubt: inDoubt, expect }: any) => ({
      call: [
        'send-policy',
        'decideSend',
        { ...outcome, retryAfterMs: outcome.retry_after_ms },
        { carries, attempts, firstAttemptAt: 0, now, inDoubt, random: 0 },
      ],
      expected: {
        next: expect.next,
        ...('wait_ms' in expect ? { waitMs: expect.wait_ms, inDoubt: expect.in_doubt } : {}),
      },
    }),
  );
}
