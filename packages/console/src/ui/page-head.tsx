import { createContext, type ReactNode, useContext } from 'react';
import { createPortal } from 'react-dom';

/** Where a screen puts its part of the page's header; null until that is drawn. */
export const HeadPlaces = createContext<{
  readonly count: HTMLElement | null;
  readonly actions: HTMLElement | null;
}>({ count: null, actions: null });

/** What a screen adds to the header of the page: how much it lists, and at the right its actions. */
export function PageHead({ count, children }: { readonly count?: string; readonly children?: ReactNode }) {
  const places = useContext(HeadPlaces);
  return (
    <>
      {places.count === null || count === undefined ? null : createPortal(count, places.count)}
      {places.actions === null ? null : createPortal(children, places.actions)}
    </>
  );
}
