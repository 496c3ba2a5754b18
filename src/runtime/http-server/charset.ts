const CHARSET = /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]*))/gi;
const LONGEST_NAMED = 40;

/**
 * The charset that a content type names, if it is not UTF-8 in one of its spellings (`UTF-8`, `utf8`, quoted or not);
 * null if it names none or UTF-8. Shortened, because it is quoted in answers.
 */
export function foreignCharset(contentType: string | undefined): string | null {
  for (const [, quoted, single, bare] of (contentType ?? '').matchAll(CHARSET)) {
    const name = (quoted ?? single ?? bare ?? '').trim();
    if (name !== '' && !isUtf8(name)) return name.slice(0, LONGEST_NAMED);
  }
  return null;
}

/** The labels of the Encoding Standard. */
function isUtf8(name: string): boolean {
  try {
    return new TextDecoder(name).encoding === 'utf-8';
  } catch {
    return false;
  }
}
