import { useNavigate } from '@tanstack/react-router';
import Back from 'lucide-react/icons/arrow-left';
import Close from 'lucide-react/icons/x';
import type { ReactNode } from 'react';
import { useKeys } from './keys.ts';
import './screen.css';

/**
 * A list and what is open of it: side by side where there is room, one page each where there is not. Esc closes it and
 * returns to its row.
 */
export function Split({
  list,
  detail,
  closeTo,
}: {
  readonly list: ReactNode;
  readonly detail: ReactNode | undefined;
  readonly closeTo: string;
}) {
  const navigate = useNavigate();
  const isOpen = detail !== undefined;
  const close = (): void => {
    const find = (which: string) => document.querySelector<HTMLElement>(`.table-body a[${which}]`);
    const row = find('aria-current');
    void navigate({ to: closeTo, search: true });
    requestAnimationFrame(() => (row ?? find('tabindex="0"'))?.focus({ preventScroll: true }));
  };
  useKeys('Detail', isOpen ? [{ keys: 'Escape', label: 'Back to the list', run: close }] : []);
  return (
    <div className="split" data-open={isOpen}>
      <div className="split-list">{list}</div>
      {isOpen ? (
        <article className="split-detail">
          <button
            type="button"
            className="button quiet split-back"
            onClick={close}
            aria-label="Back to the list"
          >
            <Close className="split-back-wide" />
            <span className="split-back-narrow">
              <Back />
              List
            </span>
          </button>
          {detail}
        </article>
      ) : null}
    </div>
  );
}
