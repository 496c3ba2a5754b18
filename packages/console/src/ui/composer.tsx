import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { useKeys } from './keys.ts';
import { Failure } from './states.tsx';
import './thread.css';

/** What a person writes: a text, or a file with a caption. */
export type Content =
  | { readonly text: string }
  | {
      readonly media: {
        readonly filename: string;
        readonly mimetype: string;
        /** Base64. */
        readonly data: string;
        readonly caption?: string;
      };
    };

export function readDataUri(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'));
    reader.readAsDataURL(file);
  });
}

async function contentOf(text: string, file: File | undefined): Promise<Content> {
  if (file === undefined) return { text };
  const data = (await readDataUri(file)).replace(/^[^,]*,/, '');
  const mimetype = file.type === '' ? 'application/octet-stream' : file.type;
  return { media: { filename: file.name, mimetype, data, ...(text === '' ? {} : { caption: text }) } };
}

/** Where a message is written. Enter sends, Shift and Enter begin a line, `r` goes there, Esc leaves. */
export function Composer({
  label,
  send,
}: {
  /** Names the field: `Message to +44 …`. */
  readonly label: string;
  /** What it wrote is kept if this rejects. */
  readonly send: (content: Content) => Promise<unknown>;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [file, setFile] = useState<File>();
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  useKeys('Chat', [{ keys: 'r', label: 'Write a message', run: () => field.current?.focus() }]);

  const submit = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (isSending || (text.trim() === '' && file === undefined)) return;
    setSending(true);
    setError(undefined);
    try {
      await send(await contentOf(text.trim(), file));
      // What was written or chosen meanwhile stays.
      setText((now) => (now.startsWith(text) ? now.slice(text.length) : now));
      setFile((now) => (now === file ? undefined : now));
    } catch (failure) {
      setError(failure);
    } finally {
      setSending(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter also ends the input of characters that are composed.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void submit();
    } else if (event.key === 'Escape') field.current?.blur();
  };

  return (
    <form className="composer" aria-label={label} onSubmit={(event) => void submit(event)}>
      <Failure error={error} />
      {file === undefined ? null : (
        <p className="line soft">
          <bdi>{file.name}</bdi>
          <Button kind="quiet" onClick={() => setFile(undefined)}>
            Remove
          </Button>
        </p>
      )}
      <div className="composer-line">
        <textarea
          ref={field}
          className="field"
          rows={Math.min(5, text.split('\n').length)}
          aria-label={label}
          placeholder={file === undefined ? 'Write a message' : 'Add a caption'}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
        />
        <input
          ref={picker}
          type="file"
          hidden
          aria-label="File"
          onChange={({ target }) => {
            setFile(target.files?.[0]);
            // So that the same file can be chosen again.
            target.value = '';
          }}
        />
        <Button onClick={() => picker.current?.click()}>Attach</Button>
        <Button type="submit" kind="main" isPending={isSending}>
          Send
        </Button>
      </div>
    </form>
  );
}
