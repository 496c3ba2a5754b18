import { useSyncExternalStore } from 'react';
import { boundKeys, hasLetters, switchLetters } from './keys.ts';
import './screen.css';

const NAMES: Readonly<Record<string, string>> = { Escape: 'Esc', ArrowDown: '↓', ArrowUp: '↑' };

/** The overlay of `?`: the keys that work where the reader is. */
export function KeyOverlay({ onClose }: { readonly onClose: () => void }) {
  const shown = useSyncExternalStore(boundKeys.subscribe, boundKeys.snapshot);
  return (
    <dialog
      className="keys"
      aria-label="Keys"
      onClose={onClose}
      ref={(dialog) => {
        if (dialog?.open === false) dialog.showModal();
      }}
      onClick={({ currentTarget, target }) => target === currentTarget && currentTarget.close()}
      onKeyDown={(event) => event.key === '?' && event.currentTarget.close()}
    >
      <div className="panel">
        <h1>Keys</h1>
        <label className="tick">
          <input
            type="checkbox"
            defaultChecked={hasLetters}
            onChange={({ target }) => switchLetters(target.checked)}
          />
          Letters and signs are keys of the page
        </label>
        {shown.map(([group, bindings]) => (
          <section key={group}>
            <h2>{group}</h2>
            <dl>
              {bindings.map(({ keys, label }) => (
                <div key={keys} className="contents">
                  <dt>
                    {keys.split(' ').map((key) => (
                      <kbd key={key}>{NAMES[key] ?? key}</kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
