import { Link, type LinkProps } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import Resume from 'lucide-react/icons/play';
import { memo, type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { isOf } from '../data/client.ts';
import { type LiveList, type LiveListState, MOST_ROWS } from '../data/live-list.ts';
import { Button } from './button.tsx';
import { JourneyLink } from './journey-link.tsx';
import { PageHead } from './page-head.tsx';
import { QueryBar, type QueryBarProps } from './query-bar.tsx';
import { useRowKeys } from './row-keys.ts';
import { EmptyState, Failure, Loading, type StateProps } from './states.tsx';
import { showDate } from './times.tsx';
import './screen.css';

/** A column: its heading, its width as a track of a CSS grid, and what it shows of a row. */
export interface Column<Row> {
  readonly heading: ReactNode;
  readonly width: string;
  readonly cell: (row: Row) => ReactNode;
  /** Left out where the table is narrow. */
  readonly isMinor?: boolean;
  readonly align?: 'end';
}

/** What a table does with its list. */
export type ListControls<Row> = Pick<
  LiveList<Row>,
  'scrollTop' | 'readMore' | 'pause' | 'resume' | 'refresh'
> & { readonly source: Pick<LiveList<Row>['source'], 'idOf'> };

export interface TableProps<Row> {
  /** What the rows are, for screen readers: `Deliveries`. */
  readonly label: string;
  readonly list: readonly [LiveListState<Row>, ListControls<Row>];
  readonly columns: readonly Column<Row>[];
  /** Where a row leads: a path whose `$id` is the id of the row, and the search of its link. Default: the present one. */
  readonly to: NonNullable<LinkProps['to']>;
  readonly search?: LinkProps['search'];
  /** Message of a row: a link beside the row leads to its journey. */
  readonly messageOf?: (row: Row) => string | null | undefined;
  /** When a row was made, ISO 8601. Where the day changes between two rows, it is named. */
  readonly timeOf?: (row: Row) => string;
  readonly selectedId: string | undefined;
  readonly empty: ReactNode;
}

const ROW_HEIGHT = 36;
const OVERSCAN = 6;
/** Older rows are read when this many remain. */
const AHEAD = 20;

/** How many rows there are, with a plus sign if more can be read. Empty until that is known. */
function showLength({ rows, isLoading, hasMore }: LiveListState<unknown>): string {
  return isLoading ? '' : rows.length.toLocaleString('en') + (hasMore ? '+' : '');
}

/** The rows of a live list. Rows are links; only those in view are drawn. Moving through it pauses it. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, to, search = true, messageOf, timeOf, selectedId, empty } = props;
  const [state, list] = props.list;
  const { rows } = state;
  const { idOf } = list.source;
  const scroller = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  // With another function, all rows are measured again.
  const keyOf = useCallback((index: number) => idOf(rows[index] as Row), [rows, idOf]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    initialOffset: list.scrollTop,
    getItemKey: keyOf,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - AHEAD) void list.readMore();
  }, [list, last, rows]);
  useEffect(() => {
    if (selectedId !== undefined) list.pause();
  }, [list, selectedId]);

  const focus = (target: number): void => {
    list.pause();
    setAt(target);
    virtual.scrollToIndex(target);
    // A row out of view is drawn first.
    const find = (): HTMLElement | null | undefined =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${target}"] a`);
    const drawn = find();
    if (drawn !== null && drawn !== undefined) drawn.focus({ preventScroll: true });
    else requestAnimationFrame(() => find()?.focus({ preventScroll: true }));
  };
  const current = (): number => {
    const focused = scroller.current
      ?.querySelector(':focus')
      ?.closest('[data-index]')
      ?.getAttribute('data-index');
    if (focused !== null && focused !== undefined) return Number(focused);
    const selected = selectedId === undefined ? -1 : rows.findIndex((row) => idOf(row) === selectedId);
    return selected === -1 ? at - 1 : selected;
  };
  const showNew = (): void => {
    list.resume();
    setAt(0);
    virtual.scrollToOffset(0);
  };
  useRowKeys({ count: () => rows.length, current, focus }, [
    {
      keys: 'n',
      label: state.isPaused ? 'Show new rows' : 'Pause',
      run: () => (state.isPaused ? showNew() : list.pause()),
    },
  ]);
  const tracks = (some: readonly Column<Row>[]): string => some.map(({ width }) => width).join(' ');
  const style = {
    '--tracks': tracks(columns),
    '--tracks-narrow': tracks(columns.filter(({ isMinor }) => isMinor !== true)),
  } as React.CSSProperties;

  return (
    <section className="table" aria-label={label} style={style}>
      <div className="table-head" aria-hidden="true">
        {columns.map(({ heading, isMinor, align }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
          <span key={place} className={cellClass(isMinor, align)}>
            {heading}
          </span>
        ))}
      </div>
      <PageHead count={showLength(state)}>
        {state.isPaused && rows.length > 0 ? (
          <Button kind="quiet" onClick={showNew}>
            <Resume />
            {state.waiting === 0 ? 'Live updates paused' : `${state.waiting.toLocaleString('en')} new`} ·
            Resume <kbd>n</kbd>
          </Button>
        ) : null}
      </PageHead>
      <div
        className="table-body"
        ref={scroller}
        tabIndex={-1}
        onScroll={({ currentTarget }) => {
          list.scrollTop = currentTarget.scrollTop;
          if (currentTarget.scrollTop > ROW_HEIGHT) list.pause();
        }}
      >
        {/* The filter bar shows what is wrong with the filter, and the shell how old the rows are. */}
        {rows.length > 0 || isOf(state.error, 'q') ? null : (
          <Failure error={state.error} onRetry={() => list.refresh()} />
        )}
        {state.isLoading ? <Loading label={`Loading ${label}`} /> : null}
        {!state.isLoading && state.error === undefined && rows.length === 0 ? empty : null}
        <ul style={{ height: virtual.getTotalSize() }} aria-label={label}>
          {items.map((item) => {
            const row = rows.at(item.index);
            if (row === undefined) return null;
            const id = idOf(row);
            const above = rows.at(item.index - 1);
            const day = timeOf && showDate(timeOf(row));
            const isNewDay =
              item.index > 0 && above !== undefined && day !== (timeOf && showDate(timeOf(above)));
            return (
              <TableRow
                key={item.key}
                {...{ row, id, columns, to, search }}
                messageId={messageOf?.(row)}
                day={isNewDay ? day : undefined}
                index={item.index}
                start={item.start}
                size={state.hasMore ? -1 : rows.length}
                isSelected={id === selectedId}
                isTabStop={item.index === at}
                onFocus={setAt}
              />
            );
          })}
        </ul>
        {state.isCut ? (
          <EmptyState
            title={`The newest ${MOST_ROWS.toLocaleString()} rows are shown`}
            hint="Filter the list to find older ones."
          />
        ) : null}
      </div>
    </section>
  );
}

/**
 * A table below its filter. If it has no rows, it says that nothing of its `kind` matches or, without a filter, what to do
 * next: `title`, `hint` and `action`.
 */
export function FilteredTable<Row>({
  q,
  tokens,
  placeholder,
  kind,
  title,
  hint,
  action,
  children,
  ...table
}: Omit<TableProps<Row>, 'empty'> &
  Omit<QueryBarProps, 'value' | 'error'> &
  StateProps & { readonly q: string; readonly kind: string; readonly children?: ReactNode }) {
  const empty =
    q === ''
      ? { title, hint, action }
      : { title: `No ${kind} matches`, hint: 'Press q to change the filter.' };
  return (
    <>
      <QueryBar value={q} error={table.list[0].error} {...{ tokens, placeholder }} />
      {children}
      <Table {...table} empty={<EmptyState {...empty} />} />
    </>
  );
}

interface RowProps<Row> extends Pick<TableProps<Row>, 'columns' | 'to' | 'search'> {
  readonly row: Row;
  readonly id: string;
  readonly messageId: string | null | undefined;
  /** The day of the row, if the row above is of another one. */
  readonly day: string | undefined;
  readonly index: number;
  /** Its distance from the top, in pixels. */
  readonly start: number;
  /** Rows of the whole list; -1 if that is not known. */
  readonly size: number;
  readonly isSelected: boolean;
  readonly isTabStop: boolean;
  readonly onFocus: (index: number) => void;
}

/** Drawn again only if something of it changes, so that scrolling draws only the rows that come into view. */
const TableRow = memo(DrawnRow) as typeof DrawnRow;

function DrawnRow<Row>(props: RowProps<Row>) {
  const { row, id, columns, to, search, messageId, day, index, start, size, isSelected, isTabStop, onFocus } =
    props;
  const tabIndex = isTabStop || isSelected ? 0 : -1;
  return (
    <li
      data-index={index}
      aria-setsize={size}
      aria-posinset={index + 1}
      style={{ transform: `translateY(${start}px)` }}
    >
      {day === undefined ? null : <span className="row-day">{day}</span>}
      <Link
        {...({ to, params: { id }, search } as LinkProps)}
        // The pointer passes over many rows while it scrolls. What they open is there already.
        preload={false}
        className="row"
        aria-current={isSelected ? 'true' : undefined}
        tabIndex={tabIndex}
        onFocus={() => onFocus(index)}
      >
        {columns.map(({ cell, isMinor, align }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
          <span key={place} className={cellClass(isMinor, align)}>
            {cell(row)}
          </span>
        ))}
      </Link>
      <JourneyLink id={messageId} className="row-journey" tabIndex={tabIndex} />
    </li>
  );
}

function cellClass(isMinor: boolean | undefined, align: 'end' | undefined): string {
  return `cell cut${isMinor === true ? ' minor' : ''}${align === undefined ? '' : ' end'}`;
}
