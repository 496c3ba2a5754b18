import { expect, it } from 'vitest';
import { digest } from '../../../src/runtime/sealing/digest.ts';
import { readSources } from '../../architecture/source-files.ts';

it.each([
  ['', '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'],
  ['abc', 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0'],
  ['é', 'SplVfkAzw1Od4utlRyAXytX5VX96BiWgnxw_biumnEw'],
])('the digest of %j is the SHA-256 of its UTF-8 bytes, as base64url', (text, expected) => {
  expect(digest(text)).toBe(expected);
});

it('is the only hash that the connector stores for secrets: no file hashes to base64url itself', () => {
  const own = readSources('src/connector').filter(({ source }) => /\.digest\('base64url'\)/.test(source));
  expect(own.map(({ path }) => path)).toEqual([]);
});
