import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';

/** A row that an address can name after `#`: when it does, the row is marked and comes into view. */
export function NamedRow({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const isNamed = useLocation({ select: ({ hash }) => hash === id });
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isNamed) row.current?.scrollIntoView({ block: 'center' });
  }, [isNamed]);
  return (
    <li ref={row} id={id} aria-current={isNamed}>
      {children}
    </li>
  );
}
