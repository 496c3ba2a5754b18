/** Names that stand for a place, or that a system takes for something else. */
const NO_NAME = /^\.*$/;
const FALLBACK = 'file';
/** What RFC 5987 lets stand as it is; all else is percent-encoded. */
const ENCODED = /['()*]/g;

/** The last part of a name, whatever system's folders stand before it, without what a header cannot hold. */
function safeName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const visible = last.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  return NO_NAME.test(visible) ? FALLBACK : visible;
}

/**
 * `Content-Disposition` of a file: an attachment, so that a browser saves it and runs nothing of it. The name has
 * an ASCII form for old clients and a UTF-8 form for all others (RFC 6266).
 */
export function attachmentHeader(filename: string): string {
  const name = safeName(filename);
  const ascii = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
