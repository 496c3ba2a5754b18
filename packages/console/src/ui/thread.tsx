import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import { Button } from './button.tsx';
import { type TickStatus, Ticks } from './chip.tsx';
import { Folded } from './folded.tsx';
import { showDate, Time } from './times.tsx';
import './thread.css';

/** A message as a chat shows it. */
export interface Bubble {
  readonly id: string;
  /** Whether the reader's side wrote it. */
  readonly isOwn: boolean;
  readonly text: string | null;
  /** The name of its file, or its type if it has no name here. */
  readonly file?: string | null;
  readonly at: string;
  readonly kind: 'virtual' | 'real';
  readonly status?: TickStatus | null;
  /** Where it leads to. */
  readonly links?: ReactNode;
  /** Who reported it. */
  readonly source?: ReactNode;
  /** What its reader should know or do, below it. */
  readonly note?: ReactNode;
}

const LIKELY_HEIGHT = 56;
/** So close to the beginning, older messages are read. */
const AHEAD_PX = 200;

/** The messages of a chat, oldest first. It stays at its end while new ones come, and only those in view are drawn. */
export function Thread({
  label,
  bubbles,
  hasMore,
  onMore,
  empty,
}: {
  readonly label: string;
  readonly bubbles: readonly Bubble[];
  readonly hasMore: boolean;
  readonly onMore: () => void;
  readonly empty: ReactNode;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: bubbles.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LIKELY_HEIGHT,
    overscan: 8,
    anchorTo: 'end',
    followOnAppend: true,
    paddingStart: 8,
    paddingEnd: 8,
    getItemKey: (index) => bubbles[index]?.id ?? index,
  });
  const isFilled = bubbles.length > 0;
  useEffect(() => {
    if (isFilled) virtual.scrollToEnd();
  }, [virtual, isFilled]);
  const readMore = (): void => {
    if (hasMore && (scroller.current?.scrollTop ?? 0) < AHEAD_PX) onMore();
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it
    <div className="thread" ref={scroller} role="log" aria-label={label} tabIndex={0} onScroll={readMore}>
      {hasMore ? (
        <Button kind="quiet" onClick={onMore}>
          Show older messages
        </Button>
      ) : null}
      {isFilled ? null : empty}
      <ul style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const bubble = bubbles[index];
          if (bubble === undefined) return null;
          const day = showDate(bubble.at);
          const before = bubbles[index - 1];
          const isFirst = before === undefined || showDate(before.at) !== day;
          return (
            <li
              key={key}
              data-index={index}
              data-own={bubble.isOwn}
              ref={virtual.measureElement}
              style={{ transform: `translateY(${start}px)` }}
            >
              {isFirst ? <p className="thread-day">{day}</p> : null}
              <BubbleView bubble={bubble} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function BubbleView({
  bubble: { text, file, at, kind, status, links, source, note },
}: {
  readonly bubble: Bubble;
}) {
  return (
    <>
      <div className="bubble" data-failed={status === 'failed'}>
        {file == null ? null : (
          <p className="bubble-file">
            <bdi>{file}</bdi>
          </p>
        )}
        {text === null ? null : (
          <p className="bubble-text">
            <Folded text={text} />
          </p>
        )}
        <p className="bubble-foot">
          {links}
          <span className="bubble-time">
            {source}
            <Time iso={at} kind={kind} />
            {status == null ? null : <Ticks status={status} />}
          </span>
        </p>
      </div>
      {note === undefined ? null : <div className="bubble-note">{note}</div>}
    </>
  );
}
