const HIDDEN = '[hidden]';
/** Read beyond what is shown, so that a secret at the end is recognized as a whole. */
const READ_BEYOND = 200;
/** Of a text of several lines. */
const LONGEST_READ = 4_000;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CUID = /^c[a-z0-9]{24}$/;
const RUN = /[A-Za-z0-9+/_=-]{20,}/g;
const URL_LIKE = /\b[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'`<>]+/gi;
const CREDENTIAL = /\b(bearer|basic)\s+"?[^\s"',]+/gi;
const NAMED =
  /(password|passwd|secret|token|api[_-]?key|authorization|signature|verifier|cookie)(\\*["']?\s*[=:]\s*)("[^"]*"?|'[^']*'?|\S+)/gi;
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
 * The text up to `limit` characters and some more, without a truncated last word: half a secret is not recognized as one.
 */
function cut(text: string, limit: number): string {
  const most = limit + READ_BEYOND;
  if (text.length <= most) return text;
  const words = /^.*[\s"'`<>]/s.exec(text.slice(0, most + 1));
  return words === null ? HIDDEN : words[0].slice(0, -1);
}

function hideSecrets(line: string): string {
  return line
    .replace(URL_LIKE, (url) => scrubUrl(url))
    .replace(CREDENTIAL, `$1 ${HIDDEN}`)
    .replace(NAMED, `$1$2${HIDDEN}`)
    .replace(RUN, (run) => (looksSecret(run) ? HIDDEN : run));
}

function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/**
 * A text as one line, without URL credentials and queries, bearer tokens and long random runs. It may repeat what a
 * customer wrote: it is for those who may read that, and for no log. At most `limit` characters, at a bounded cost.
 */
export function maskSecrets(text: string, limit = 300): string {
  const lines = text
    .slice(0, LONGEST_READ)
    .split(/[\r\n]+/)
    .map((line) => line.trim());
  return shorten(hideSecrets(cut(lines.filter((line) => line !== '').join(' '), limit)), limit);
}

/**
 * The first line of a text, safe to log: as `maskSecrets`, and without what looks like JSON and quoted text, unless it is
 * a plain lower-case identifier (parsers and databases quote their input). The cost is bounded, however long the text is:
 * it is truncated first.
 */
export function scrubText(text: string, limit = 300): string {
  const line = cut(text, limit).split(/[\r\n]/, 1)[0] ?? '';
  const scrubbed = hideSecrets(line)
    .replace(/[{[](?!hidden\]).*$/, '…')
    .replace(QUOTED, (whole, inner: string) => (IDENTIFIER.test(inner) ? whole : '"…"'));
  return shorten(scrubbed, limit);
}
