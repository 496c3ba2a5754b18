import { useNavigate } from '@tanstack/react-router';
import Search from 'lucide-react/icons/search';
import Clear from 'lucide-react/icons/x';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { isOf } from '../data/client.ts';
import { useKeys } from './keys.ts';
import { enter } from './take-focus.ts';
import './screen.css';

/** A key of the filter, what it means, and its values if they are few. */
export interface QueryToken {
  readonly key: string;
  readonly hint: string;
  readonly values?: readonly string[];
}

export interface QueryBarProps {
  readonly value: string;
  readonly tokens: readonly QueryToken[];
  /** Why the list could not be read. */
  readonly error: unknown;
  readonly placeholder?: string | undefined;
}

interface Hint {
  /** What the word becomes. */
  readonly word: string;
  readonly hint: string;
}

/** What may follow the beginning of a word: keys, or the values of a key. `!` negates either. */
function hintsFor(word: string, tokens: readonly QueryToken[]): readonly Hint[] {
  const not = word.startsWith('!') ? '!' : '';
  const begun = word.slice(not.length);
  const colon = begun.indexOf(':');
  if (colon === -1) {
    const keys = tokens.filter(({ key }) => key.startsWith(begun));
    return keys.map(({ key, hint }) => ({ word: `${not}${key}:`, hint }));
  }
  const token = tokens.find(({ key }) => key === begun.slice(0, colon));
  const values = token?.values?.filter((value) => value.startsWith(begun.slice(colon + 1))) ?? [];
  return values.map((value) => ({ word: `${not}${token?.key}:${value}`, hint: '' }));
}

/**
 * The filter of a list: words and `key:value` tokens, in the URL as `q`. `q` goes there; Enter applies it; the server
 * judges it, and its words are shown below.
 */
export function QueryBar({
  value,
  tokens,
  error,
  placeholder = 'Filter: words, key:value, !key:value',
}: QueryBarProps) {
  const navigate = useNavigate();
  const id = useId();
  const isWrong = isOf(error, 'q');
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  useEffect(() => setText(value), [value]);
  useKeys('Filter', [{ keys: 'q', label: 'Filter the list', run: () => enter(input.current) }]);

  const place = input.current?.selectionStart ?? text.length;
  const from = text.lastIndexOf(' ', place - 1) + 1;
  const hints = isOpen ? hintsFor(text.slice(from, place), tokens).slice(0, 12) : [];

  const apply = (q: string): void => {
    setOpen(false);
    setActive(-1);
    const next = q.trim() || undefined;
    void navigate({ to: '.', search: ((all: object) => ({ ...all, q: next })) as never });
  };
  const take = ({ word }: Hint): void => {
    const isWhole = !word.endsWith(':');
    const next = `${text.slice(0, from)}${word}${isWhole ? ' ' : ''}${text.slice(place).trimStart()}`;
    setText(next);
    setActive(-1);
    if (isWhole) apply(next);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const hint = hints[active];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (hints.length > 0)
        setActive((now) => (Math.max(now, step < 0 ? 0 : -1) + step + hints.length) % hints.length);
      event.preventDefault();
    } else if (event.key === 'Enter') {
      if (hint === undefined) apply(text);
      else take(hint);
    } else if (event.key === 'Tab' && hint !== undefined) {
      take(hint);
      event.preventDefault();
    } else if (event.key === 'Escape') {
      if (isOpen && hints.length > 0) setOpen(false);
      else if (text !== value) setText(value);
      else event.currentTarget.blur();
    }
  };

  return (
    <div className="query">
      <div className="query-line">
        <div className="query-field">
          <Search />
          <input
            ref={input}
            type="text"
            role="combobox"
            aria-label="Filter"
            aria-expanded={hints.length > 0}
            aria-controls={`${id}-hints`}
            aria-activedescendant={active < 0 ? undefined : `${id}-${active}`}
            aria-invalid={isWrong}
            aria-describedby={!isWrong ? undefined : `${id}-error`}
            autoComplete="off"
            spellCheck={false}
            placeholder={placeholder}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setOpen(true);
              setActive(-1);
            }}
            onFocus={() => setOpen(true)}
            onBlur={() => setOpen(false)}
            onKeyDown={onKeyDown}
          />
          {value === '' ? (
            <span className="query-key" aria-hidden="true">
              <kbd>q</kbd>
            </span>
          ) : (
            <button
              type="button"
              className="query-clear"
              aria-label="Clear the filter"
              onClick={() => apply('')}
            >
              <Clear />
            </button>
          )}
          <div
            className="query-hints"
            id={`${id}-hints`}
            role="listbox"
            aria-label="Filter keys"
            hidden={hints.length === 0}
          >
            {hints.map((hint, index) => (
              <div
                key={hint.word}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === active}
                onPointerDown={(event) => {
                  event.preventDefault();
                  take(hint);
                }}
              >
                <code>{hint.word}</code>
                <span className="faint">{hint.hint}</span>
              </div>
            ))}
          </div>
        </div>
      </div>
      {!isWrong ? null : (
        <p className="query-error" id={`${id}-error`} role="alert">
          {error.message}
        </p>
      )}
    </div>
  );
}
