import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { takeFocus } from '../../ui/take-focus.ts';

/** What the service shows only once. */
export function Secrets({ secrets }: { readonly secrets: readonly (readonly [string, string])[] }) {
  const [copied, setCopied] = useState<string>();
  return (
    <section aria-label="Secrets" ref={takeFocus}>
      <p className="note">Copy this now: the service shows it only once.</p>
      <dl className="facts">
        {secrets.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="mono">
              {value}{' '}
              <Button kind="quiet" onClick={() => void copyText(value).then(() => setCopied(name))}>
                Copy
              </Button>
            </dd>
          </div>
        ))}
      </dl>
      <span className="faint" role="status">
        {copied === undefined ? '' : `${copied} copied`}
      </span>
    </section>
  );
}
