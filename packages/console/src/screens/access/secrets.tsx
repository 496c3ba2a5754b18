import { useState } from 'react';
import { Facts } from '../../ui/about.tsx';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { takeFocus } from '../../ui/take-focus.ts';

/** What the service shows only once. */
export function Secrets({ secrets }: { readonly secrets: readonly (readonly [string, string])[] }) {
  const [copied, setCopied] = useState<string>();
  return (
    <section aria-label="Secrets" ref={takeFocus}>
      <p className="note">Copy this now: the service shows it only once.</p>
      <Facts
        valueClass="mono"
        facts={secrets.map(([name, value]) => [
          name,
          <span key={name}>
            {value}{' '}
            <Button kind="quiet" onClick={() => void copyText(value).then(() => setCopied(name))}>
              Copy
            </Button>
          </span>,
        ])}
      />
      <span className="faint" role="status">
        {copied === undefined ? '' : `${copied} copied`}
      </span>
    </section>
  );
}
