/**
 * Types that no program executes when it opens them, with their file extensions. Everything else is sent as
 * plain bytes.
 */
const ENDINGS: Readonly<Record<string, string>> = {
  'application/msword': 'doc',
  'application/pdf': 'pdf',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/zip': 'zip',
  'audio/aac': 'aac',
  'audio/amr': 'amr',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'text/csv': 'csv',
  'text/plain': 'txt',
  'text/vcard': 'vcf',
  'video/3gpp': '3gp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
};
const PLAIN_BYTES = 'application/octet-stream';

export interface SafeType {
  readonly contentType: string;
  /** Without the dot. */
  readonly ending: string;
}

/**
 * The content type of a file: the first of the given types that is known to be harmless, otherwise plain
 * bytes. Never HTML, SVG or any other type that a browser executes. Parameters are dropped.
 */
export function safeTypeOf(...types: readonly (string | null)[]): SafeType {
  for (const type of types) {
    const name = type?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    const ending = Object.hasOwn(ENDINGS, name) ? ENDINGS[name] : undefined;
    if (ending !== undefined) return { contentType: name, ending };
    // The type in the message takes precedence: any other type would be a guess.
    if (name !== '' && name !== PLAIN_BYTES) break;
  }
  return { contentType: PLAIN_BYTES, ending: 'bin' };
}

/**
 * A name for the file of a message, built from its id only: a name chosen by a stranger could have a meaning
 * to a system.
 */
export function fileNameOf(messageId: string, { ending }: SafeType): string {
  const id = messageId.replaceAll(/[^A-Za-z0-9_-]/g, '').slice(0, 64);
  return `message-${id}.${ending}`;
}
