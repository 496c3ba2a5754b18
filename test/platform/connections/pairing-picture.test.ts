import { describe, expect, test } from 'vitest';
import { hashCanonical } from '../../../src/platform/connections/canonical-json.ts';
import { drawPicture } from '../../../src/platform/connections/pairing/draw-picture.ts';
import {
  bareCode,
  isGoodCode,
  newPairingCode,
  shownCode,
} from '../../../src/platform/connections/pairing/pairing-code.ts';
import {
  isGoodTicket,
  readTicket,
  writeTicket,
} from '../../../src/platform/connections/pairing/pairing-ticket.ts';
import { readQr } from '../../support/read-qr.ts';

const ID = 'c0123456789abcdefghijklmn';
const SECRET = Buffer.alloc(32, 7);
const NOW = Date.UTC(2026, 0, 15, 12);

function read(text: string) {
  const ticket = readTicket(text);
  if (ticket === null) throw new Error('no ticket');
  return ticket;
}

describe('pairing ticket', () => {
  test('contains the connection and the time, and is unique', () => {
    const texts = Array.from({ length: 100 }, () => writeTicket(ID, SECRET, NOW));
    expect(new Set(texts).size).toBe(100);
    expect(read(texts[0] ?? '')).toMatchObject({ connectionId: ID, issuedAt: NOW });
  });

  test('is valid for 20 s, and not before it was issued', () => {
    const ticket = read(writeTicket(ID, SECRET, NOW));
    const good = [-1, 0, 19_999, 20_000, 86_400_000].map((ms) => isGoodTicket(ticket, SECRET, NOW + ms));
    expect(good).toEqual([false, true, true, false, false]);
  });

  test('is invalid with another secret, or if any character was changed', () => {
    const text = writeTicket(ID, SECRET, NOW);
    expect(isGoodTicket(read(text), Buffer.alloc(32, 8), NOW)).toBe(false);
    for (let at = 0; at < text.length; at += 1) {
      const changed = text.slice(0, at) + (text[at] === '7' ? '8' : '7') + text.slice(at + 1);
      const ticket = readTicket(changed);
      const isTaken = ticket !== null && ticket.connectionId === ID && isGoodTicket(ticket, SECRET, NOW);
      expect(isTaken, `character ${at}`).toBe(false);
    }
  });

  test.each(['', 'https://example.com', 'PAIR:', `PAIR:${ID.toUpperCase()}`, '2@abc,def,ghi'])(
    'does not accept %j',
    (text) => {
      expect(readTicket(text)).toBeNull();
    },
  );
});

describe('pairing picture', () => {
  test('has modules of at least 6 pixels and a quiet zone of 4', () => {
    const text = writeTicket(ID, SECRET, NOW);
    const picture = readQr(drawPicture(text));
    expect(picture.text).toBe(text);
    expect(picture.moduleSize).toBeGreaterThanOrEqual(6);
    expect(picture.quietModules).toBeGreaterThanOrEqual(4);
    expect(picture.side % picture.moduleSize).toBe(0);
  });

  test('can be read with any ticket', () => {
    for (let turn = 0; turn < 50; turn += 1) {
      const text = writeTicket(ID, SECRET, NOW + turn * 3_000);
      expect(readQr(drawPicture(text)).text).toBe(text);
    }
  });
});

describe('pairing code', () => {
  test('has two groups of four characters, and is accepted in any case, with or without the hyphen', () => {
    const code = newPairingCode('4915112345678', NOW);
    const shown = shownCode(code);
    expect(shown).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    for (const typed of [
      shown,
      shown.toLowerCase(),
      shown.replace('-', ''),
      ` ${shown.replace('-', ' ')} `,
    ]) {
      expect(isGoodCode(code, bareCode(typed), NOW)).toBe(true);
    }
    expect(isGoodCode(code, bareCode(`${shown}0`), NOW)).toBe(false);
  });

  test('is valid for three minutes', () => {
    const code = newPairingCode('4915112345678', NOW);
    const good = [0, 179_999, 180_000].map((ms) => isGoodCode(code, code.code, NOW + ms));
    expect(good).toEqual([true, true, false]);
  });
});

describe('canonical hash', () => {
  const hash = (text: string): string => hashCanonical(JSON.parse(text)).toString('hex');

  test('does not depend on the order of keys, at any depth, or on how numbers are written', () => {
    expect(hash('{"a":1,"b":{"c":[1,{"d":2,"e":3}],"f":null}}')).toBe(
      hash('{ "b": {"f":null, "c":[1.0,{"e":3,"d":2e0}]}, "a":1 }'),
    );
  });

  test.each([
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":null}', '{}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{"a":"b","c":"d"}', '{"a":"b\\",\\"c\\":\\"d"}'],
    ['{"__proto__":1}', '{}'],
  ])('distinguishes %s from %s', (one, other) => {
    expect(hash(one)).not.toBe(hash(other));
  });
});
