import { createHmac } from 'node:crypto';

/** Replaces personal values, the same value always by the same one. */
export interface Redactor {
  /** A text of the same length in UTF-16 and in UTF-8, with a character of the same kind at each place. */
  text(value: string): string;
  /** Digits of the same length, from a range reserved for fiction if they are long enough. */
  phone(value: string): string;
}

/** Characters of one kind and of the same length in UTF-8. All other characters, such as `<`, stay as they are. */
const KINDS = [
  'abcdefghijklmnopqrstuvwxyz',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  '0123456789',
  'àáâãäåæçèéêëìíîïðñòóôõöøùúûüý',
  '你好世界天地人山水火木金土日月星云雨雪风',
  '😀😁😂😃😄😅😆😇😈😉😊😋😌😍😎😏',
].map((kind) => [...kind]);

/** Which replacements a character may have. */
function kindOf(char: string): readonly string[] | undefined {
  const known = KINDS.find((kind) => kind.includes(char));
  if (known !== undefined) return known;
  if (!/[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(char)) return undefined;
  const length = Buffer.byteLength(char);
  return KINDS.find(([first = '']) => first.length === char.length && Buffer.byteLength(first) === length);
}

const FICTION = '1555010';

/** `key` decides what replaces what; with another key, the same value is replaced by another one. */
export function createRedactor(key: Uint8Array): Redactor {
  const digestOf = (value: string): Buffer => createHmac('sha512', key).update(value).digest();
  return {
    text(value) {
      const digest = digestOf(value);
      return [...value]
        .map((char, index) => {
          // Never by itself.
          const others = kindOf(char)?.filter((other) => other !== char);
          if (others === undefined) return char;
          const draw = (digest[index % digest.length] ?? 0) + index;
          return others[draw % others.length] ?? char;
        })
        .join('');
    },
    phone(value) {
      const digits = [...digestOf(value)].map((byte) => byte % 10).join('');
      return value.length > FICTION.length
        ? (FICTION + digits).slice(0, value.length)
        : digits.replace(/^0/, '1').slice(0, value.length);
    },
  };
}
