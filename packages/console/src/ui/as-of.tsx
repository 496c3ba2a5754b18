import { useRealNow } from '../data/clock.ts';
import { type Figure, readingOf } from '../data/reading.ts';
import { Chip } from './chip.tsx';
import { showSpan, showTime } from './times.tsx';

/** The heading of a section, and when its figures were read. */
export function ReadHeading({
  title,
  figures,
}: {
  readonly title: string;
  readonly figures: readonly Figure[];
}) {
  return (
    <header className="line">
      <h2>{title}</h2>
      <AsOf figures={figures} />
    </header>
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
