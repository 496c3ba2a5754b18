import type { ReactNode } from 'react';
import { useRealNow } from '../data/clock.ts';
import { type Figure, readingOf } from '../data/reading.ts';
import { Chip } from './chip.tsx';
import { NamedSection } from './named.tsx';
import { ReadFailure } from './states.tsx';
import { showSpan, showTime } from './times.tsx';

/** A section that an address can name, when its figures were read, and why they could not be read again. */
export function ReadSection({
  id,
  label,
  title = label,
  figures,
  error,
  children,
}: {
  readonly id?: string;
  readonly label: string;
  readonly title?: string;
  readonly figures: readonly Figure[];
  readonly error?: unknown;
  readonly children: ReactNode;
}) {
  return (
    <NamedSection id={id} label={label}>
      <header className="line">
        <h2>{title}</h2>
        <AsOf figures={figures} />
      </header>
      <ReadFailure error={error} />
      {children}
    </NamedSection>
  );
}

/** When figures were read. If they are not current, how old they are as well. */
export function AsOf({ figures }: { readonly figures: readonly Figure[] }) {
  const now = useRealNow();
  const { at, isLate } = readingOf(now, figures);
  if (at === undefined) return <span className="faint">{isLate ? 'not read' : 'reading'}</span>;
  if (!isLate) return <span className="faint">as of {showTime(at)}</span>;
  return (
    <Chip tone="warn">
      stale: as of {showTime(at)}, {showSpan(now - at)} ago
    </Chip>
  );
}
