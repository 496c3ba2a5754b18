import { keepPreviousData } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import Search from 'lucide-react/icons/search';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useRead } from '../../data/read.ts';
import { Failure, Loading } from '../../ui/states.tsx';
import { find, type Hit } from './find.ts';
import '../../ui/screen.css';
import './search.css';

/** The search waits so long for the next key. */
const TYPING_MS = 150;

/** Finds anything by its id, a number or a text, and opens it. Enter opens the chosen hit, at first the first one. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  const [active, setActive] = useState(0);
  /** Whether Enter was pressed before anything was found. */
  const [isEager, setEager] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  const { data, error } = useRead({
    queryKey: ['search', asked],
    queryFn: () => find(asked),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
  });
  const found = asked === '' ? undefined : data;
  const isCurrent = found?.text === text.trim();
  const hits = found?.groups.flatMap((group) => group.hits) ?? [];
  const open = ({ to }: Hit): void => {
    dialog.current?.close();
    void navigate(to).then(() => document.querySelector<HTMLElement>('main h1')?.focus());
  };
  const chosen = hits[Math.min(active, hits.length - 1)];
  useEffect(() => {
    if (!isEager || !isCurrent) return;
    setEager(false);
    if (chosen !== undefined) open(chosen);
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter') {
      if (isCurrent && chosen !== undefined) open(chosen);
      else if (text.trim() !== '') {
        setAsked(text.trim());
        setEager(true);
      }
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (hits.length > 0) setActive((now) => (now + step + hits.length) % hits.length);
    } else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="search"
      aria-label="Search"
      onClose={onClose}
      onKeyDown={onKeyDown}
      onClick={({ currentTarget, target }) => target === currentTarget && currentTarget.close()}
    >
      <div className="search-field">
        <Search />
        <input
          autoFocus
          type="text"
          role="combobox"
          aria-label="Number, id or text"
          aria-expanded={hits.length > 0}
          aria-controls={`${id}-hits`}
          aria-activedescendant={chosen === undefined ? undefined : `${id}-${hits.indexOf(chosen)}`}
          autoComplete="off"
          spellCheck={false}
          placeholder="Number, id or text"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setActive(0);
            setEager(false);
          }}
        />
      </div>
      <div id={`${id}-hits`} role="listbox" aria-label="Found" className="search-hits">
        {found?.groups.map(({ kind, hits: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of a list box is no fieldset
          <div key={kind} role="group" aria-label={kind}>
            <p className="faint" aria-hidden="true">
              {kind}
            </p>
            {own.map((hit) => (
              <Link
                key={hit.id}
                {...hit.to}
                id={`${id}-${hits.indexOf(hit)}`}
                role="option"
                tabIndex={-1}
                preload={false}
                aria-selected={hit === chosen}
                onClick={() => dialog.current?.close()}
              >
                <bdi className="cut">{hit.title}</bdi>
                <bdi className="soft cut">{hit.hint}</bdi>
              </Link>
            ))}
          </div>
        ))}
      </div>
      <div role="status" className="soft">
        {asked === '' ? (
          'Messages, connections, deliveries and dead letters.'
        ) : found === undefined && error === null ? (
          <Loading label="Searching" />
        ) : isCurrent && hits.length === 0 ? (
          `Nothing has “${asked}”.`
        ) : null}
        {found === undefined || found.unread.length === 0
          ? null
          : ` Could not be searched: ${found.unread.join(', ')}.`}
      </div>
      <Failure error={error} />
    </dialog>
  );
}
