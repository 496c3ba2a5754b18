import { describe, expect, it } from 'vitest';
import { proves } from '../support/proves.ts';
import { readSources, type SourceFile } from './source-files.ts';
import { lineAt, splitSource } from './source-parts.ts';

/*
 * A signature covers the bytes that were sent. A body parser before the receiver would consume them, and a plain
 * comparison would reveal by its duration how much of a forged signature is correct.
 */

const RECEIVER = /\breceiver\s*\.\s*router\b/g;
const BODY_PARSERS = /\b(?:express\s*\.\s*)?(?:json|urlencoded|raw|text)\s*\(\s*(?=[{)])|\bbodyParser\b/g;
const MOUNTED = /\b\w*(?:app|router)\w*\s*\.\s*use\s*\($/i;

/** Body parsers that are mounted for every route in a file, before the receiver is. */
function findEarlyParsers(file: SourceFile): string[] {
  const receiver = [...file.code.matchAll(RECEIVER)][0]?.index ?? Number.NEGATIVE_INFINITY;
  return [...file.code.matchAll(BODY_PARSERS)]
    .filter(({ index }) => index < receiver && MOUNTED.test(file.code.slice(0, index).trimEnd()))
    .map(({ index, 0: what }) => `${file.path}:${lineAt(file.source, index)} ${what}`);
}

const COMPARISON = /([\w$.?\])]+|['"])\s*(?:={2,3}|!={1,2})\s*(typeof\s+)?([\w$.?]+|['"])/g;
const SECRET_NAME = /(?:signature|hmac|digest|secret|token|apiKey)$/i;
const HARMLESS = /^(?:undefined|null|true|false|-?\d+|['"])$/;

/** Comparisons of signatures and secrets with `===` and similar operators. Checking whether one exists is harmless. */
function findPlainComparisons(file: SourceFile): string[] {
  return [...file.code.matchAll(COMPARISON)]
    .filter(({ 1: left = '', 3: right = '' }) => {
      const names = [left, right].some((side) => SECRET_NAME.test(side));
      return names && !HARMLESS.test(left) && !HARMLESS.test(right);
    })
    .map(({ index, 0: what }) => `${file.path}:${lineAt(file.source, index)} ${what}`);
}

function parse(source: string): SourceFile {
  return { path: 'src/x/y.ts', source, ...splitSource(source) };
}

const files = readSources('src');

describe('the webhook receiver', () => {
  it('receives the bytes before any body parser', () => {
    proves('delivery.verify.raw-bytes');
    expect(files.flatMap(findEarlyParsers)).toEqual([]);
  });

  it('parses no body before it is verified', () => {
    proves('delivery.verify.raw-bytes');
    const inbox = files.filter(({ path }) => path.startsWith('src/connector/inbox/'));
    expect(inbox.length).toBeGreaterThan(0);
    const parsers = inbox.flatMap((file) => [
      ...file.code.matchAll(/\bexpress\s*\.\s*(?:json|raw|text|urlencoded)\b/g),
    ]);
    expect(parsers).toEqual([]);
  });

  it('is mounted in a file that this rule checks', () => {
    expect(files.filter(({ code }) => code.search(RECEIVER) !== -1).map(({ path }) => path)).toEqual([
      expect.stringMatching(/^src\/connector\//),
    ]);
  });
});

describe('signatures and secrets', () => {
  it('are compared in constant time, never with ===', () => {
    proves('delivery.verify.constant-time');
    expect(files.flatMap(findPlainComparisons)).toEqual([]);
  });
});

describe('the rules about the receiver', () => {
  it.each([
    'app.use(express.json()); app.use(receiver.router);',
    'app.use(json({ limit: 1 }));\napp.use(parts.receiver.router);',
    'app.use(express.raw({ type: all }), x); app.use(receiver.router);',
  ])('find the parser in %s', (source) => {
    expect(findEarlyParsers(parse(source))).toHaveLength(1);
  });

  it.each([
    'app.use(receiver.router); app.use(express.json());',
    'response.json({}); app.use(receiver.router);',
    'router.post(path, json({ limit: 1 }), handle); app.use(receiver.router);',
  ])('do not mind %s', (source) => {
    expect(findEarlyParsers(parse(source))).toEqual([]);
  });

  it.each([
    'if (signature === expected) return;',
    'if (expected != request.signature) return;',
    'const same = digest !== hmac;',
    'return given === options.apiToken;',
  ])('find the comparison in %s', (source) => {
    expect(findPlainComparisons(parse(source))).toHaveLength(1);
  });

  it.each([
    'if (signature === undefined) return;',
    "if (typeof signature === 'string') return;",
    'if (signature.length === 64) return;',
    'const left = secrets.length !== tokens.length;',
    '// signature === expected',
  ])('do not mind %s', (source) => {
    expect(findPlainComparisons(parse(source))).toEqual([]);
  });
});
