import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../support/make-folder.ts';
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

/** The compiler options of a strict team. Only the types of Node are installed. */
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

/** A pattern in a folder of its own, with its two programs from the page. */
interface PatternRun {
  readonly compiled: Ended;
  /** The results of the mistake and of the correct use. */
  readonly printed: readonly Ended[];
}

const folder = makeFolder(afterAll);
const runs = new Map<string, PatternRun>();

async function runPattern(pattern: string): Promise<PatternRun> {
  const own = join(folder, pattern);
  mkdirSync(own);
  copyFileSync(join(ROOT, `src/patterns/${pattern}.ts`), join(own, `${pattern}.ts`));
  const [mistake, , use, , ...further] = SECTIONS.get(pattern) ?? [];
  // A program without an import would be a script, without top-level await.
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
  // One after the other, to leave processors to other tests.
  for (const pattern of PATTERNS) runs.set(pattern, await runPattern(pattern));
}, 180_000);

describe('docs/patterns.md', () => {
  it('has a section for each pattern: the mistake, the correct use, and the output of each', () => {
    expect([...SECTIONS.keys()].sort()).toEqual([...PATTERNS].sort());
    for (const [name, blocks] of SECTIONS) {
      expect({ name, languages: blocks.map(({ language }) => language) }).toEqual({
        name,
        // The remaining blocks are compiled but not run.
        languages: ['ts', 'text', 'ts', 'text', ...blocks.slice(4).map(() => 'ts')],
      });
    }
  });

  it.each(PATTERNS)('%s compiles with strict options, alone in a folder', (pattern) => {
    expect(runs.get(pattern)?.compiled).toEqual({ code: 0, stdout: '', stderr: '' });
    const use = SECTIONS.get(pattern)?.[2]?.text;
    expect(use).toContain(`from './${pattern}.js'`);
  });

  it.each([
    ['as npx tsc --init creates it', ['--init']],
    ['with the defaults of TypeScript 5.0', null],
  ])('compiles every pattern in a project %s', async (_what, init) => {
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

  it.each(PATTERNS)('%s: the mistake fails as shown', (pattern) => {
    const [mistake, output] = SECTIONS.get(pattern) ?? [];
    expect(mistake?.text).not.toContain(`./${pattern}.ts`);
    expect(runs.get(pattern)?.printed[0]).toEqual({ code: 0, stdout: `${output?.text}\n`, stderr: '' });
  });

  it.each(PATTERNS)('%s: the correct use prints what is shown', (pattern) => {
    const output = SECTIONS.get(pattern)?.[3];
    expect(runs.get(pattern)?.printed[1]).toEqual({ code: 0, stdout: `${output?.text}\n`, stderr: '' });
  });

  it('promises Node 20: the examples and the vectors pass on each old Node of this machine', async () => {
    expect(PAGE).toContain('run on Node 20');
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

/** Calls functions of the compiled patterns. Plain JavaScript, because it runs on an old Node. */
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
  /** Pattern, function and arguments. */
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
