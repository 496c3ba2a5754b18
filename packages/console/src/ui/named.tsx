import { useLocation } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';

/** Brings an element into view when an address names it after `#`. */
function useNamed<Of extends HTMLElement>(
  id: string | undefined,
  block: ScrollLogicalPosition,
): { readonly isNamed: boolean; readonly ref: RefObject<Of | null> } {
  const isNamed = useLocation({ select: ({ hash }) => hash === id });
  const ref = useRef<Of>(null);
  useEffect(() => {
    if (isNamed) ref.current?.scrollIntoView({ block });
  }, [isNamed, block]);
  return { isNamed, ref };
}

/** A row that an address can name: it is then marked as well. */
export function NamedRow({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const { isNamed, ref } = useNamed<HTMLLIElement>(id, 'center');
  return (
    <li ref={ref} id={id} aria-current={isNamed}>
      {children}
    </li>
  );
}

/** A section of a screen that an address can name, if it has an id. */
export function NamedSection({
  id,
  label,
  children,
}: {
  readonly id?: string | undefined;
  readonly label: string;
  readonly children: ReactNode;
}) {
  const { ref } = useNamed<HTMLElement>(id, 'start');
  return (
    <section ref={ref} id={id} aria-label={label}>
      {children}
    </section>
  );
}
