const HIDDEN = '[hidden]';
/** Read beyond what is shown, so that a secret at the end is recognized as a whole. */
const READ_BEYOND = 200;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CUID = /^c[a-z0-9]{24}$/;
const RUN = /[A-Za-z0-9+/_=-]{20,}/g;
const URL_LIKE = /\b[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'`<>]+/gi;
const CREDENTIAL = /\b(bearer|basic)\s+\S+/gi;
const NAMED =
  /(password|passwd|secret|token|api[_-]?key|authorization|signature|verifier|cookie)(["']?\s*[=:]\s*)\S+/gi;
const QUOTED = /"([^"]*)(?:"|$)/g;
const IDENTIFIER = /^[a-z_][a-z0-9_.]{0,62}$/;

function isRandomLooking(part: string): boolean {
  if (part.length < 20) return false;
  const digit = /\d/.test(part);
  if (/[a-z]/.test(part) && /[A-Z]/.test(part) && digit) return true;
  return part.length >= 32 && digit && /[a-z]/i.test(part);
}

/**
 * True for a run of characters that could be a key, a token or a signature. False for the ids that the
 * project uses.
 */
export function looksSecret(run: string): boolean {
  if (UUID.test(run) || CUID.test(run)) return false;
  return run.split('/').some(isRandomLooking);
}

/** The address without credentials, query and fragment. A text that is not a URL is hidden completely. */
export function scrubUrl(text: string): string {
  if (!URL.canParse(text)) return HIDDEN;
  const url = new URL(text);
  const path = url.pathname.replace(RUN, (run) => (looksSecret(run) ? HIDDEN : run));
  return `${url.protocol}//${url.host}${path === '/' ? '' : path}`.slice(0, 300);
}

/**
 * The text up to `most` characters, without a truncated last word: half a secret is not recognized as one.
 */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.max(text.lastIndexOf(' ', most), text.lastIndexOf('\t', most));
  return end < 0 ? HIDDEN : text.slice(0, end);
}

/**
 * One line of text that is safe to log: no URL credentials or queries, no bearer tokens, no long random runs,
 * nothing that looks like JSON, and no quoted text unless it is a plain lower-case identifier (parsers and
 * databases quote their input). At most `limit` characters. The cost is bounded, however long the text is: it
 * is truncated first.
 */
export function scrubText(text: string, limit = 300): string {
  const line = cut(text.slice(0, limit + READ_BEYOND + 1).split(/[\r\n]/, 1)[0] ?? '', limit + READ_BEYOND);
  const scrubbed = line
    .replace(URL_LIKE, (url) => scrubUrl(url))
    .replace(CREDENTIAL, `$1 ${HIDDEN}`)
    .replace(NAMED, `$1$2${HIDDEN}`)
    .replace(/[{[](?!hidden\]).*$/, '…')
    .replace(QUOTED, (whole, inner: string) => (IDENTIFIER.test(inner) ? whole : '"…"'))
    .replace(RUN, (run) => (looksSecret(run) ? HIDDEN : run));
  return scrubbed.length > limit ? `${scrubbed.slice(0, limit)}…` : scrubbed;
}
