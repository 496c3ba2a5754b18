import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { UsageError } from './command-line.ts';

/** A page of what is exported, and where the next one begins; null at the end. */
export interface ExportPage {
  readonly entries: readonly object[];
  readonly next: string | null;
}

export interface ExportOptions {
  readonly file: string;
  /** What is exported. An export continues only if it is the same. */
  readonly subject: object;
  /** Reads the page that begins at a cursor; null for the first one. */
  readonly readPage: (cursor: string | null) => Promise<ExportPage>;
  /** Called after each page with the number of entries so far. */
  readonly onPage?: (entries: number) => void;
}

/** An export that is complete. */
export interface Exported {
  readonly entries: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** What of the file is complete. */
interface Progress {
  readonly subject: object;
  readonly cursor: string | null;
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Writes all pages to a file, one entry in each line as JSON, and its checksum to `<file>.sha256`. After each page,
 * `<file>.progress` says what is complete, so that an export that was interrupted continues there, whatever was written
 * since. Throws what `readPage` throws.
 * @throws UsageError if the file exists and is not of an export of the same subject that was interrupted
 */
export async function writeExport({ file, subject, readPage, onPage }: ExportOptions): Promise<Exported> {
  let { cursor, entries, bytes } = readProgress(file, subject);
  // Also what fails before the first page is continued.
  await replaceFile(`${file}.progress`, { subject, cursor, entries, bytes });
  // It contains what people have written.
  const output = await open(file, bytes === 0 ? 'w' : 'r+', 0o600);
  try {
    await output.truncate(bytes);
    const hash = createHash('sha256');
    if (bytes > 0) for await (const chunk of createReadStream(file)) hash.update(chunk);
    do {
      const page = await readPage(cursor);
      const lines = Buffer.from(page.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
      await writeAll(output, lines, bytes);
      hash.update(lines);
      cursor = page.next;
      entries += page.entries.length;
      bytes += lines.length;
      if (cursor !== null) await replaceFile(`${file}.progress`, { subject, cursor, entries, bytes });
      onPage?.(entries);
    } while (cursor !== null);
    const sha256 = hash.digest('hex');
    await writeFile(`${file}.sha256`, `${sha256}  ${basename(file)}\n`);
    await rm(`${file}.progress`, { force: true });
    return { entries, bytes, sha256 };
  } finally {
    await output.close();
  }
}

function readProgress(file: string, subject: object): Progress {
  const fresh = { subject, cursor: null, entries: 0, bytes: 0 };
  if (!existsSync(`${file}.progress`)) {
    if (existsSync(file)) throw new UsageError(`${file} exists. Pass another file, or delete it.`);
    return fresh;
  }
  const progress = JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as Progress;
  const isSame = JSON.stringify(progress.subject) === JSON.stringify(subject);
  // What wrote nothing, such as an attempt at a mistyped address, is nothing to continue.
  if (!isSame && progress.bytes > 0)
    throw new UsageError(
      `${file} is an export of something else that was interrupted. Pass the same options to continue it, or delete ${file}.progress and ${file}.`,
    );
  return isSame && existsSync(file) ? progress : fresh;
}

async function writeAll(output: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await output.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
  // The progress must not name what a crash of the machine could lose.
  await output.datasync();
}

async function replaceFile(file: string, content: object): Promise<void> {
  // It names the person whose messages are exported.
  await writeFile(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
